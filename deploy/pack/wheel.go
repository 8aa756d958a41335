package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// wheelTags are the platforms of a wheel by the platform of its binary. The Linux binaries are static, so
// that both kinds of libc do; the rest is the oldest system that this version of Go runs on.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// platformWheel returns the Python package with the program of a platform, which pip puts beside python.
func (r release) platformWheel(p platform) (string, []byte, error) {
	tags, ok := wheelTags[p]
	if !ok {
		return "", nil, nil
	}
	program, err := r.binary(p, "shardcat")
	if err != nil {
		return "", nil, err
	}
	return r.wheel("shardcat", tags, []file{program})
}

// readerWheel returns the reader of shards in pure Python.
func (r release) readerWheel([]platform) (string, []byte, error) {
	return r.wheel("amudai", "any", nil)
}

// wheel returns clients/python/NAME as a wheel (PEP 427).
func (r release) wheel(name, tags string, scripts []file) (string, []byte, error) {
	project := filepath.Join(r.root, "clients", "python", name)
	version := pythonVersion(r.version)
	pyproject, err := r.read("clients/python/" + name + "/pyproject.toml")
	if err != nil {
		return "", nil, err
	}
	metadata, entries, err := metadataOf(pyproject.content, version)
	if err != nil {
		return "", nil, fmt.Errorf("%s/pyproject.toml: %w", name, err)
	}
	readme, err := r.read("clients/python/" + name + "/README.md")
	if err != nil {
		return "", nil, err
	}
	licence, err := r.read("LICENSE")
	if err != nil {
		return "", nil, err
	}
	files, err := folder(filepath.Join(project, "src"), func(name string) bool {
		return !strings.Contains(name, "__pycache__") && !strings.Contains(name, ".egg-info/")
	})
	if err != nil {
		return "", nil, err
	}
	files = append(files, in(name+"-"+version+".data/scripts/", scripts...)...)

	info := name + "-" + version + ".dist-info/"
	wheel := "Wheel-Version: 1.0\nGenerator: shardcat-pack\nRoot-Is-Purelib: true\n"
	if tags != "any" {
		wheel = strings.Replace(wheel, "true", "false", 1)
	}
	for tag := range strings.SplitSeq(tags, ".") {
		wheel += "Tag: py3-none-" + tag + "\n"
	}
	files = append(files,
		file{name: info + "licenses/LICENSE", content: licence.content, mode: 0o644},
		file{name: info + "METADATA", content: append([]byte(metadata+"\n"), readme.content...), mode: 0o644},
		file{name: info + "WHEEL", content: []byte(wheel), mode: 0o644})
	if entries != "" {
		files = append(files, file{name: info + "entry_points.txt", content: []byte(entries), mode: 0o644})
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	b, err := zipOf(append(files, file{name: info + "RECORD", content: []byte(record.String()), mode: 0o644}))
	return name + "-" + version + "-py3-none-" + tags + ".whl", b, err
}

// pythonVersion returns a version in the form of PEP 440: 1.2.3rc1.
func pythonVersion(version string) string {
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(version)
}

var (
	tomlHeader = regexp.MustCompile(`^\[([^\]]+)\]$`)
	tomlPair   = regexp.MustCompile(`^([A-Za-z_-]+) = (.+)$`)
	tomlText   = regexp.MustCompile(`"([^"\\]*)"`)
)

// metadataOf returns the core metadata and the entry points of a pyproject.toml, whose values stand in one
// line each.
func metadataOf(pyproject []byte, version string) (metadata, entries string, err error) {
	var b strings.Builder
	b.WriteString("Metadata-Version: 2.4\n")
	section := ""
	for lines := bufio.NewScanner(bytes.NewReader(pyproject)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if m := tomlHeader.FindStringSubmatch(line); m != nil {
			section = m[1]
			continue
		}
		if section != "project" && section != "project.optional-dependencies" && section != "project.scripts" || line == "" {
			continue
		}
		m := tomlPair.FindStringSubmatch(line)
		if m == nil {
			return "", "", fmt.Errorf("%q: expected a key and a value in one line", line)
		}
		var values []string
		for _, v := range tomlText.FindAllStringSubmatch(m[2], -1) {
			values = append(values, v[1])
		}
		if len(values) == 0 {
			return "", "", fmt.Errorf("%q: expected a quoted string", line)
		}
		switch {
		case section == "project.scripts":
			entries += m[1] + " = " + values[0] + "\n"
		case section == "project.optional-dependencies":
			fmt.Fprintf(&b, "Provides-Extra: %s\n", m[1])
			for _, v := range values {
				fmt.Fprintf(&b, "Requires-Dist: %s; extra == \"%s\"\n", v, m[1])
			}
		case m[1] == "name":
			fmt.Fprintf(&b, "Name: %s\nVersion: %s\n", values[0], version)
		case m[1] == "description":
			fmt.Fprintf(&b, "Summary: %s\n", values[0])
		case m[1] == "requires-python":
			fmt.Fprintf(&b, "Requires-Python: %s\n", values[0])
		case m[1] == "dependencies":
			for _, v := range values {
				fmt.Fprintf(&b, "Requires-Dist: %s\n", v)
			}
		case m[1] == "version" || m[1] == "readme": // of the release, and below
		default:
			return "", "", fmt.Errorf("unknown key %q", m[1])
		}
	}
	if entries != "" {
		entries = "[console_scripts]\n" + entries
	}
	b.WriteString("License-Expression: Apache-2.0\nLicense-File: LICENSE\nProject-URL: Source, https://github.com/shardcat/shardcat\nDescription-Content-Type: text/markdown\n")
	return b.String(), entries, nil
}
