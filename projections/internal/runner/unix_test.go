//go:build linux || darwin

package runner

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func umask() int {
	was := unix.Umask(0)
	unix.Umask(was)
	return was
}

func octal(mask int) string { return fmt.Sprintf("%03o\n", mask) }

// gone says that there is no such process, or that it is dead and waits for init to take notice.
func gone(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || unix.Kill(n, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	return len(stat) > 0 && zombie(string(stat))
}

func zombie(stat string) bool {
	for i := len(stat) - 1; i > 0; i-- {
		if stat[i] == ')' {
			return i+2 < len(stat) && stat[i+2] == 'Z'
		}
	}
	return false
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
}
