//go:build unix

package exectool

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the end of a command's context end everything that the command has
// started, unless that has left its process group. It also keeps a terminal's interrupt
// from the command: who runs this program decides how long a call may go on.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
