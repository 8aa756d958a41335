package fileio

import (
	"os"

	"golang.org/x/sys/unix"
)

// makeSlots makes memory that another process can map, and maps it for reading. It is sealed: nobody can make it shorter, so that
// what is mapped is there.
func makeSlots() (*os.File, slots, error) {
	fd, err := unix.MemfdCreate("shardcat-slots", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), "the slots")
	err = f.Truncate(slotCount * slotBytes)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	var memory slots
	if err == nil {
		memory, err = unix.Mmap(fd, 0, slotCount*slotBytes, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, memory, nil
}

// mapSlots maps slots for writing, and closes their file.
func mapSlots(f *os.File) (slots, error) {
	defer f.Close()
	return unix.Mmap(int(f.Fd()), 0, slotCount*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// unmap lets go of the memory.
func (s slots) unmap() { _ = unix.Munmap(s) }
