package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// component is a part of a program, as in CycloneDX 1.5.
type component struct {
	Type    string   `json:"type"`
	Ref     string   `json:"bom-ref,omitempty"`
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	PURL    string   `json:"purl,omitempty"`
	Hashes  []sbHash `json:"hashes,omitempty"`
}

type sbHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// sbom returns the bill of materials of a platform's programs: the modules that the linker put into each.
func (r release) sbom(p platform) (string, []byte, error) {
	modules := map[string]component{}
	var binaries []component
	type dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
	var dependencies []dependency
	for _, program := range programs {
		f, err := r.binary(p, program)
		if err != nil {
			return "", nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(f.content))
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", program, err)
		}
		uses := map[string]bool{}
		add := func(m *debug.Module) {
			if m.Replace != nil && m.Replace.Version != "" {
				m = m.Replace
			}
			version := m.Version
			if version == "" || version == "(devel)" { // of this repository
				version = "v" + r.version
			}
			purl := "pkg:golang/" + m.Path + "@" + version
			modules[purl] = component{Type: "library", Ref: purl, Name: m.Path, Version: version, PURL: purl}
			uses[purl] = true
		}
		for _, m := range info.Deps {
			add(m)
		}
		add(&debug.Module{Path: "stdlib", Version: info.GoVersion})
		ref := f.name + "@" + r.version
		binaries = append(binaries, component{Type: "application", Ref: ref, Name: f.name, Version: r.version, Hashes: []sbHash{{"SHA-256", sha256Hex(f.content)}}})
		dependencies = append(dependencies, dependency{ref, sortedKeys(uses)})
	}
	components := binaries
	for _, purl := range sortedKeys(modules) {
		components = append(components, modules[purl])
	}
	b, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":     map[string]any{"component": component{Type: "application", Name: "shardcat", Version: r.version}},
		"components":   components,
		"dependencies": dependencies,
	}, "", "  ")
	return "shardcat-" + r.version + "-" + p.String() + ".cdx.json", append(b, '\n'), err
}
