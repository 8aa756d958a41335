package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"path"
	"strings"
)

// programs are the binaries of an archive.
var programs = []string{"shardcat", "shardcat-temporal"}

// archive returns the programs of a platform with man pages, completions and the files to deploy them:
// a zip for Windows, a compressed tar elsewhere.
func (r release) archive(p platform) (string, []byte, error) {
	name := "shardcat-" + r.version + "-" + p.String()
	var files []file
	for _, program := range programs {
		f, err := r.binary(p, program)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
	}
	for _, page := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		f, err := r.read(page)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
	}
	man, err := r.manPages()
	if err != nil {
		return "", nil, err
	}
	completions, err := r.completions()
	if err != nil {
		return "", nil, err
	}
	shipped, err := r.deployFiles()
	if err != nil {
		return "", nil, err
	}
	files = append(files, in("man/", man...)...)
	files = append(files, in("completions/", completions...)...)
	files = append(files, in("deploy/", shipped...)...)
	files = withFolders(in(name+"/", files...))
	if p.os == "windows" {
		b, err := zipOf(files)
		return name + ".zip", b, err
	}
	b, err := tarGz(files)
	return name + ".tar.gz", b, err
}

// deployFiles returns what a user deploys: everything below deploy/ but programs and tests of this
// repository.
func (r release) deployFiles() (out []file, err error) {
	for _, part := range []string{"chart", "compose", "grafana", "kubernetes", "prometheus", "systemd"} {
		files, err := folder(path.Join(r.root, "deploy", part), func(name string) bool { return !strings.HasSuffix(name, "_test.yml") })
		if err != nil {
			return nil, err
		}
		out = append(out, in(part+"/", files...)...)
	}
	return out, nil
}

// debian returns a package for dpkg: the programs, man pages, completions and the unit of systemd, which is
// not enabled. Platforms other than Linux have none.
func (r release) debian(p platform) (string, []byte, error) {
	if p.os != "linux" {
		return "", nil, nil
	}
	var files []file
	for _, program := range programs {
		f, err := r.binary(p, program)
		if err != nil {
			return "", nil, err
		}
		files = append(files, in("usr/bin/", f)...)
	}
	man, err := r.manPages()
	if err != nil {
		return "", nil, err
	}
	for _, page := range man {
		if page.content, err = gzipped(page.content); err != nil {
			return "", nil, err
		}
		page.name += ".gz"
		files = append(files, in("usr/share/man/man1/", page)...)
	}
	completions, err := r.completions()
	if err != nil {
		return "", nil, err
	}
	for _, f := range completions {
		if at := map[string]string{
			"shardcat.bash": "usr/share/bash-completion/completions/shardcat",
			"_shardcat":     "usr/share/zsh/vendor-completions/_shardcat",
			"shardcat.fish": "usr/share/fish/vendor_completions.d/shardcat.fish",
		}[f.name]; at != "" {
			f.name = at
			files = append(files, f)
		}
	}
	unit, err := r.read("deploy/systemd/shardcat.service")
	if err != nil {
		return "", nil, err
	}
	unit.content = bytes.ReplaceAll(unit.content, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
	files = append(files, in("usr/lib/systemd/system/", unit)...)
	for from, to := range map[string]string{"LICENSE": "copyright", "CHANGELOG.md": "changelog.gz", "deploy/systemd/env.example": "examples/env", "deploy/systemd/config.yaml": "examples/config.yaml"} {
		f, err := r.read(from)
		if err != nil {
			return "", nil, err
		}
		if strings.HasSuffix(to, ".gz") {
			if f.content, err = gzipped(f.content); err != nil {
				return "", nil, err
			}
		}
		f.name = "usr/share/doc/shardcat/" + to
		files = append(files, f)
	}

	version := strings.Replace(r.version, "-", "~", 1) // sorts before the release
	size := 0
	var sums bytes.Buffer
	files = withFolders(files)
	for _, f := range files {
		if !f.folder() {
			size += len(f.content)
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), f.name)
		}
	}
	control := fmt.Sprintf("Package: shardcat\nVersion: %s\nArchitecture: %s\nMaintainer: shardcat <https://github.com/shardcat/shardcat>\n"+
		"Installed-Size: %d\nRecommends: ca-certificates\nSection: database\nPriority: optional\nHomepage: https://github.com/shardcat/shardcat\n"+
		"Description: catalog of Amudai shards on object storage\n"+
		" Ingests CSV, NDJSON, Parquet and Arrow as columnar shards, registers them in\n"+
		" an Apache Iceberg catalog, scans them, and compacts them by metadata.\n",
		version, p.arch, (size+1023)/1024)
	controls, err := tarGz([]file{{name: "./", mode: 0o755}, {name: "./control", content: []byte(control), mode: 0o644}, {name: "./md5sums", content: sums.Bytes(), mode: 0o644}})
	if err != nil {
		return "", nil, err
	}
	data, err := tarGz(append([]file{{name: "./", mode: 0o755}}, in("./", files...)...))
	if err != nil {
		return "", nil, err
	}
	return "shardcat_" + version + "_" + p.arch + ".deb", arOf([]file{
		{name: "debian-binary", content: []byte("2.0\n")},
		{name: "control.tar.gz", content: controls},
		{name: "data.tar.gz", content: data},
	}), nil
}
