//go:build unix

package ws

import "golang.org/x/sys/unix"

const canAsk = true

func writable(fd uintptr) bool {
	socket := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(socket[:], 0)
	return err == nil && n == 1 && socket[0].Revents == unix.POLLOUT
}
