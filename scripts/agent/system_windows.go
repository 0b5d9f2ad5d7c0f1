package main

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lockFile opens the file and locks it until it is closed. It returns errBusy while another process has the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	switch {
	case err == nil:
		return file, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		err = errBusy
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION), errors.Is(err, windows.ERROR_NOT_SUPPORTED):
		err = errors.ErrUnsupported
	}
	return nil, errors.Join(err, file.Close())
}

// job is a job object. Windows ends its processes when the agent dies.
type job struct {
	mu     sync.Mutex
	handle windows.Handle // 0 before the start and after the end
}

func newFamily() family { return &job{} }

func (j *job) prepare(cmd *exec.Cmd, _ *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func (j *job) started(p *os.Process) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	j.handle = handle
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return err
	}
	return errors.Join(windows.AssignProcessToJobObject(handle, process), windows.CloseHandle(process))
}

func (j *job) end() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		return nil
	}
	handle := j.handle
	j.handle = 0
	return errors.Join(windows.TerminateJobObject(handle, 1), windows.CloseHandle(handle))
}

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
