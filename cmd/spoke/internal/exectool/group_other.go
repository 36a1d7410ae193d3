//go:build !unix

package exectool

import "os/exec"

// ownGroup does nothing where processes have no groups: the end of a command's context
// ends the command, and no longer than for grace it waits for what that has started.
func ownGroup(*exec.Cmd) {}
