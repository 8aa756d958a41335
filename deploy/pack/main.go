// Command pack makes the files of a release out of built binaries: archives, a Debian package and a
// wheel per platform, an OCI image, SBOMs and checksums. It needs no daemon and no packaging tools,
// and equal input makes equal bytes. deploy/release runs it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// release is one version of the program and where its parts are.
type release struct {
	version string
	root    string // the repository
	built   string // binaries in OS-ARCH/, man pages in man/, completions in completions/
	out     string
}

// platform is a target of the Go compiler.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version of the release")
	flag.StringVar(&r.root, "root", ".", "folder of the repository")
	flag.StringVar(&r.built, "built", "", "folder of the built files")
	flag.StringVar(&r.out, "out", "", "folder for the files of the release")
	flag.Parse()
	if err := r.pack(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// versions are those that archives, Debian, Python and container tags all accept.
var versions = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// pack writes every file of the release for the platforms named OS/ARCH.
func (r release) pack(names []string) error {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("invalid version %q: must be X.Y.Z or X.Y.Z-rc.N", r.version)
	}
	var platforms []platform
	for _, name := range names {
		os, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("invalid platform %q: must be OS/ARCH", name)
		}
		platforms = append(platforms, platform{os, arch})
	}
	made := map[string][]byte{}
	for _, p := range platforms {
		for _, make := range []func(platform) (string, []byte, error){r.archive, r.debian, r.platformWheel, r.sbom} {
			name, content, err := make(p)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if name != "" {
				made[name] = content
			}
		}
	}
	for _, make := range []func([]platform) (string, []byte, error){r.image, r.readerWheel} {
		name, content, err := make(platforms)
		if err != nil {
			return err
		}
		if name != "" {
			made[name] = content
		}
	}
	return r.write(made)
}

// write stores the files, and their checksums beside them.
func (r release) write(made map[string][]byte) error {
	var sums bytes.Buffer
	for _, name := range sortedKeys(made) {
		fmt.Fprintf(&sums, "%s  %s\n", sha256Hex(made[name]), name)
		if err := os.WriteFile(filepath.Join(r.out, name), made[name], 0o644); err != nil {
			return err
		}
		fmt.Printf("%12d  %s\n", len(made[name]), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// binary returns a built program of a platform, without its .exe in name.
func (r release) binary(p platform, name string) (file, error) {
	f := file{name: name + exe(p), mode: 0o755}
	var err error
	f.content, err = os.ReadFile(filepath.Join(r.built, p.String(), f.name))
	return f, err
}

func exe(p platform) string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// file is an entry of an archive: a folder if its name ends with a slash.
type file struct {
	name     string
	content  []byte
	mode     fs.FileMode
	uid, gid int
}

func (f file) folder() bool { return strings.HasSuffix(f.name, "/") }

// in returns the files with a folder put before their names.
func in(folder string, files ...file) []file {
	out := slices.Clone(files)
	for i := range out {
		out[i].name = folder + out[i].name
	}
	return out
}

// read returns a file of the repository.
func (r release) read(path string) (file, error) {
	content, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(path)))
	return file{name: filepath.Base(path), content: content, mode: 0o644}, err
}

// folder returns the files below a folder, with names relative to it, in the order of their names.
func folder(at string, keep func(name string) bool) (out []file, err error) {
	err = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(at, path)
		if err != nil || !keep(filepath.ToSlash(name)) {
			return err
		}
		content, err := os.ReadFile(path)
		out = append(out, file{name: filepath.ToSlash(name), content: content, mode: 0o644})
		return err
	})
	return out, err
}

func all(string) bool { return true }

func (r release) manPages() ([]file, error) { return folder(filepath.Join(r.built, "man"), all) }

func (r release) completions() ([]file, error) {
	return folder(filepath.Join(r.built, "completions"), all)
}
