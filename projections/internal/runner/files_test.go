//go:build linux || darwin

package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLook(t *testing.T) {
	p := newPlace(t)
	outside := newPlace(t)
	outside.write("secret", "x", 0o600)
	p.write("sub/file", "hello", 0o640)
	link := func(to, name string) { require.NoError(t, os.Symlink(to, filepath.Join(p.root, name))) }
	link("sub/file", "link")
	link("gone", "dangling")
	link(filepath.Join(outside.root, "secret"), "escape")
	link(outside.root, "escapedir")
	link("..", "sub/up")
	mkfifo(t, filepath.Join(p.root, "pipe"))

	look := func(path string) (f struct {
		Exists      bool
		Type, Error string
		SHA, Target string
	},
	) {
		got := Look(p.root, filepath.Join(p.root, "sub"), []string{path})[0]
		require.Equal(t, path, got.Path)
		f.Exists, f.Type, f.Error, f.SHA, f.Target = got.Exists, got.Type, got.Error, got.SHA256, got.Target
		return f
	}
	sum := sha256.Sum256([]byte("hello"))
	sha := hex.EncodeToString(sum[:])

	f := look("file")
	require.True(t, f.Exists)
	require.Equal(t, "file", f.Type)
	require.Equal(t, sha, f.SHA)
	require.Empty(t, f.Error)
	require.True(t, look(filepath.Join(p.root, "sub", "file")).Exists, "absolute, inside")
	require.Equal(t, "dir", look("../sub").Type)
	require.Equal(t, "dir", look(".").Type)

	f = look("../link")
	require.True(t, f.Exists)
	require.Equal(t, "symlink", f.Type)
	require.Equal(t, "sub/file", f.Target)
	require.Equal(t, sha, f.SHA)

	f = look("../dangling")
	require.False(t, f.Exists)
	require.Equal(t, "symlink", f.Type)
	require.Contains(t, f.Error, "leads to nothing")

	for _, path := range []string{"../escape", "../escapedir/secret"} {
		f = look(path)
		require.False(t, f.Exists, path)
		require.Contains(t, f.Error, "outside", path)
		require.Empty(t, f.SHA, path)
	}
	for _, path := range []string{"../../x", "/etc/passwd", filepath.Join(outside.root, "secret")} {
		f = look(path)
		require.False(t, f.Exists, path)
		require.Contains(t, f.Error, "outside", path)
	}
	f = look("../pipe")
	require.True(t, f.Exists)
	require.Equal(t, "other", f.Type)
	require.Empty(t, f.SHA)

	for _, path := range []string{"absent", "file/below"} {
		f = look(path)
		require.False(t, f.Exists, path)
		require.Empty(t, f.Error, path)
	}
	require.NotEmpty(t, look("").Error)
	require.NotEmpty(t, look("a\x00b").Error)
}

func TestLookRecords(t *testing.T) {
	p := newPlace(t)
	p.write("file", "hello", 0o640)
	f := Look(p.root, p.root, []string{"file"})[0]
	require.EqualValues(t, 5, f.Size)
	require.Equal(t, "-rw-r-----", f.Mode)
	require.Equal(t, filepath.Join(p.root, "file"), f.Abs)
	require.False(t, f.MTime.IsZero())

	gone := Look(filepath.Join(p.root, "no"), p.root, []string{"file"})[0]
	require.NotEmpty(t, gone.Error)
	require.False(t, gone.Exists)
}
