package badgerlog

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tmpfs mounts a small device, or skips.
func tmpfs(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no small device can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fillUp takes all the room that is left and returns the path of what takes it.
func fillUp(t *testing.T, dir string) string {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	require.NoError(t, err)
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	require.NoError(t, f.Close())
	return path
}

// On a device that fills up, the process lives, says so, and everything that was acknowledged is there.
func TestDiskFull(t *testing.T) {
	device := tmpfs(t, "28m")
	dir := filepath.Join(device, "log")
	o := run(t, "fill", dir)
	require.Empty(t, o.crash)
	require.Contains(t, o.err, "no space left for the log")
	require.Greater(t, len(o.events), 1000)
	free, err := freeBytes(device)
	require.NoError(t, err)
	t.Logf("filling: %d events, %d MB left: %s", len(o.events), free>>20, o.err)

	img := image{dir: dir, acked: o.events}
	before := img.state(t)
	ballast := fillUp(t, device)
	o = run(t, "read", dir)
	require.Empty(t, o.crash)
	require.Contains(t, o.err, "needed to open it")
	require.Equal(t, before, img.state(t))
	t.Logf("opening: %s", o.err)

	require.NoError(t, os.Remove(ballast))
	bigger := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.CopyFS(bigger, os.DirFS(dir)))
	require.NoError(t, copyFile(headPath(dir), headPath(bigger)))
	o = run(t, "read", bigger)
	require.Empty(t, o.err)
	require.Equal(t, img.acked, o.events[1:1+len(img.acked)])
}

// The same with a device that is full at once, without a store on it.
func TestNoRoomForANewStore(t *testing.T) {
	device := tmpfs(t, "1m")
	o := run(t, "fill", filepath.Join(device, "log"))
	require.Empty(t, o.crash)
	require.Contains(t, o.err, "no space left for the log")
	require.Less(t, uint64(1<<20), small().reserve())
	require.Less(t, small().reserve(), uint64(math.MaxUint32))
}
