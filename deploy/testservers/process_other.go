//go:build !linux

package main

import "syscall"

// processAttributes are those of the system.
func processAttributes() *syscall.SysProcAttr { return nil }
