package main

import (
	"runtime/debug"
	"strings"
)

// release is set by the linker where a release is built (deploy/release).
var release = ""

// version names what runs: a release, or the module's version, with the commit it was built from.
func version() string {
	name, commit := release, ""
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return first(name, "unknown")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(info.Main.Version, s.Value[:min(12, len(s.Value))]) {
			commit = " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return first(name, info.Main.Version, "(devel)") + commit + " " + info.GoVersion
}
