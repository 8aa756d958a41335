package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const chart = "../chart"

// everything turns on all parts of the chart.
const everything = `
image: {repository: example.org/shardcat, tag: "9.9.9"}
config: {tables: {"*": {schedule: 1h}}}
service: {replicas: 2, workers: 3, extraArgs: [--answers, "32"]}
round: {enabled: true}
podLabels: {team: data}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: spot, operator: Exists}]
imagePullSecrets: [{name: pull}]
`

// objects renders the chart and decodes its documents by kind.
func objects(t *testing.T, values string) map[string]string {
	t.Helper()
	text, err := check(chart, []byte(values))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(text, "---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(part), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Kind != "" {
			out[kind.Kind] += part
		}
	}
	return out
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// restricted checks a pod against the restricted Pod Security Standard, and that it has a /tmp.
func restricted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	s := pod.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: %+v", s)
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("container: %+v", s)
		}
		if c.VolumeMounts[0].MountPath != "/tmp" || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("container: %+v", c)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := objects(t, "")
	if len(got) != 2 {
		t.Fatalf("%d kinds, want a Deployment and a Service", len(got))
	}
	d := decode[appsv1.Deployment](t, got["Deployment"])
	restricted(t, d.Spec.Template.Spec)
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "shardcat:"+version(t) {
		t.Errorf("image %s", image)
	}
	s := decode[corev1.Service](t, got["Service"])
	for name, value := range s.Spec.Selector {
		if d.Spec.Template.Labels[name] != value {
			t.Errorf("the Service selects %s=%s, which the pods lack", name, value)
		}
	}
}

func TestEverything(t *testing.T) {
	got := objects(t, everything)
	d := decode[appsv1.Deployment](t, got["Deployment"])
	restricted(t, d.Spec.Template.Spec)
	c := d.Spec.Template.Spec.Containers[0]
	want := "serve --listen 0.0.0.0:8099 --workers 3 --config /etc/shardcat/config.yaml --answers 32"
	if args := strings.Join(c.Args, " "); args != want || c.Image != "example.org/shardcat:9.9.9" || *d.Spec.Replicas != 2 {
		t.Errorf("%s\n%s\n%d", c.Image, args, *d.Spec.Replicas)
	}
	round := decode[batchv1.CronJob](t, got["CronJob"]).Spec.JobTemplate.Spec.Template
	restricted(t, round.Spec)
	if args := strings.Join(round.Spec.Containers[0].Args, " "); args != "serve --once --workers 2 --config /etc/shardcat/config.yaml" {
		t.Error(args)
	}
	service := decode[corev1.Service](t, got["Service"])
	selected := true
	for name, value := range service.Spec.Selector {
		selected = selected && round.Labels[name] == value
	}
	if selected {
		t.Error("the Service selects pods of the round")
	}
	if config := decode[corev1.ConfigMap](t, got["ConfigMap"]).Data["config.yaml"]; !strings.Contains(config, "schedule: 1h") {
		t.Errorf("config.yaml is %q", config)
	}
}

// TestRefusals: values that would be ignored or break the service are refused.
func TestRefusals(t *testing.T) {
	for _, values := range []string{"replicas: 2", "service: {worker: 2}", "service: {workers: 0}", "service: {port: 80}", `image: {repository: ""}`, "secretName: 5"} {
		if text, err := check(chart, []byte(values)); err == nil {
			t.Errorf("%s is accepted:\n%s", values, text)
		}
	}
}

// TestManifests: the files for kubectl decode as the API server decodes them, and use the chart's version.
func TestManifests(t *testing.T) {
	paths, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "image: shardcat:"+version(t)+"\n") {
			t.Errorf("%s is not of version %s", path, version(t))
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			if err := strict([]byte(part)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if strict([]byte("apiVersion: v1\nkind: Service\nspec: {selektor: {}}")) == nil {
		t.Error("an unknown field is accepted")
	}
}

func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Version, AppVersion string }
	if err := yaml.Unmarshal(text, &c); err != nil || c.Version != c.AppVersion {
		t.Fatalf("%+v, %v", c, err)
	}
	return c.AppVersion
}
