// Command chartcheck lints a Helm chart, renders it, checks the objects against the types of
// Kubernetes, and prints them. It is a module of its own for the dependencies of Helm.
//
//	chartcheck CHART [VALUES.yaml]
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: chartcheck CHART [VALUES.yaml]")
		os.Exit(2)
	}
	var values []byte
	var err error
	if len(os.Args) == 3 {
		values, err = os.ReadFile(os.Args[2])
	}
	var text string
	if err == nil {
		text, err = check(os.Args[1], values)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chartcheck:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// check returns the rendered objects of a chart as YAML documents.
func check(path string, values []byte) (string, error) {
	given, err := chartutil.ReadValues(values)
	if err != nil {
		return "", err
	}
	for _, m := range lint.All(path, given, "default", true).Messages {
		if m.Severity > support.InfoSev {
			return "", fmt.Errorf("lint: %s: %w", m.Path, m.Err)
		}
	}
	c, err := loader.Load(path)
	if err != nil {
		return "", err
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "shardcat", Namespace: "default", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.Render(c, all)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(files[name]) == "" {
			continue
		}
		if err := strict([]byte(files[name])); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&out, "---\n# %s\n%s\n", name, strings.TrimSpace(files[name]))
	}
	return out.String(), nil
}

// strict decodes an object as the API server does, where an unknown field is an error.
func strict(text []byte) error {
	var kind struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return err
	}
	types := map[string]any{
		"apps/v1 Deployment": &appsv1.Deployment{}, "batch/v1 CronJob": &batchv1.CronJob{},
		"v1 Service": &corev1.Service{}, "v1 ConfigMap": &corev1.ConfigMap{},
	}
	to, ok := types[kind.APIVersion+" "+kind.Kind]
	if !ok {
		return fmt.Errorf("unknown object %s %s", kind.APIVersion, kind.Kind)
	}
	return yaml.UnmarshalStrict(text, to)
}
