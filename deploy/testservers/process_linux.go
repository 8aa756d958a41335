package main

import "syscall"

// processAttributes keep Ctrl-C from the servers, so that they end after the command and not before, and let
// the kernel end them should this process be killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
