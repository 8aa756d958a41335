package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// epoch is the time of every entry, so that equal input makes equal bytes.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// withFolders returns files and the folders above them, in the order of their names.
func withFolders(files []file) []file {
	byName := map[string]file{}
	for _, f := range files {
		byName[f.name] = f
	}
	for _, f := range files {
		for at := path.Dir(strings.TrimSuffix(f.name, "/")); at != "." && at != "/"; at = path.Dir(at) {
			if _, ok := byName[at+"/"]; !ok {
				byName[at+"/"] = file{name: at + "/", mode: 0o755}
			}
		}
	}
	out := make([]file, 0, len(byName))
	for _, name := range sortedKeys(byName) {
		out = append(out, byName[name])
	}
	return out
}

func tarOf(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.content)), Mode: int64(f.mode),
			Uid: f.uid, Gid: f.gid, ModTime: epoch, Format: tar.FormatUSTAR}
		if f.folder() {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func tarGz(files []file) ([]byte, error) {
	b, err := tarOf(files)
	if err != nil {
		return nil, err
	}
	return gzipped(b)
}

// zipOf writes files without entries for folders, as wheels have them.
func zipOf(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		if f.folder() {
			continue
		}
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// arOf writes an archive of ar(1), the container of Debian packages.
func arOf(files []file) []byte {
	b := bytes.NewBufferString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, epoch.Unix(), 0, 0, "100644", len(f.content))
		b.Write(f.content)
		if len(f.content)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
