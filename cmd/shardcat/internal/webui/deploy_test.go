package webui

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// metricNames are those of this program, with the suffixes of histograms.
var metricNames = regexp.MustCompile(`shardcat_[a-z_]+`)

// TestDeployedRulesAskForWhatIsServed: every metric that the alert rules and the dashboard select is served.
func TestDeployedRulesAskForWhatIsServed(t *testing.T) {
	g := newGround(t, Options{})
	_, text, _ := g.ask(t, "GET", "/metrics", nil, nil)
	served := metricNames.FindAllString(text, -1)
	for place, exprs := range map[string][]string{"alerts": alertExprs(t), "dashboard": panelExprs(t)} {
		if len(exprs) < 5 {
			t.Errorf("%s: only %d expressions", place, len(exprs))
		}
		for _, expr := range exprs {
			for _, name := range metricNames.FindAllString(expr, -1) {
				if !slices.Contains(served, name) {
					t.Errorf("%s: %q asks for %s, which nobody serves", place, expr, name)
				}
			}
			if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "[") != strings.Count(expr, "]") {
				t.Errorf("%s: unbalanced: %q", place, expr)
			}
		}
	}
}

func alertExprs(t *testing.T) (out []string) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "../../../../deploy/prometheus/alerts.yml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%+v lacks a name, a severity or a summary", r)
			}
			out = append(out, r.Expr)
		}
	}
	return out
}

func panelExprs(t *testing.T) (out []string) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../../../../deploy/grafana/shardcat.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			out = append(out, target.Expr)
		}
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDashboardSelects: each expression is of the chosen jobs and instances, and a size of a table is counted once however many replicas serve it.
func TestDashboardSelects(t *testing.T) {
	for _, expr := range panelExprs(t) {
		for _, at := range metricNames.FindAllStringIndex(expr, -1) {
			if !strings.HasPrefix(expr[at[1]:], `{job=~"$job",instance=~"$instance"}`) {
				t.Errorf("%q: %s is of all jobs and instances", expr, expr[at[0]:at[1]])
			}
		}
		for _, gauge := range []string{"halted", "failing", "backlog_shards", "backlog_bytes", "table_shards", "table_bytes", "quarantined_groups"} {
			if strings.Contains(expr, "shardcat_"+gauge+"{") && !strings.Contains(expr, "max by (table) (shardcat_"+gauge+"{") {
				t.Errorf("%q counts a table once for each replica", expr)
			}
		}
	}
}

// TestManifestsAreRestricted: the pods pass the restricted Pod Security Standard, have limits and a /tmp, and their arguments are commands.
func TestManifestsAreRestricted(t *testing.T) {
	type container struct {
		Args            []string
		Resources       struct{ Limits map[string]string }
		SecurityContext struct {
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	type template struct {
		Spec struct {
			SecurityContext struct {
				RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
				SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
			} `yaml:"securityContext"`
			Containers []container
		}
	}
	kinds := map[string]int{}
	for _, file := range []string{"deployment.yaml", "cronjob.yaml"} {
		for decoder := yaml.NewDecoder(strings.NewReader(read(t, "../../../../deploy/kubernetes/"+file))); ; {
			var object struct {
				Kind string
				Spec struct {
					Template    template
					JobTemplate struct{ Spec struct{ Template template } } `yaml:"jobTemplate"`
				}
			}
			err := decoder.Decode(&object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kinds[object.Kind]++
			pod := object.Spec.Template
			if object.Kind == "CronJob" {
				pod = object.Spec.JobTemplate.Spec.Template
			} else if object.Kind != "Deployment" {
				continue
			}
			if !pod.Spec.SecurityContext.RunAsNonRoot || pod.Spec.SecurityContext.SeccompProfile.Type != "RuntimeDefault" || len(pod.Spec.Containers) == 0 {
				t.Errorf("%s: %+v", file, pod.Spec.SecurityContext)
			}
			for _, c := range pod.Spec.Containers {
				s := c.SecurityContext
				if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
					t.Errorf("%s: %+v", file, s)
				}
				if c.Resources.Limits["memory"] == "" || c.Resources.Limits["cpu"] == "" || len(c.VolumeMounts) == 0 || c.VolumeMounts[0].MountPath != "/tmp" || c.Args[0] != "serve" {
					t.Errorf("%s: %+v", file, c)
				}
			}
		}
	}
	if kinds["Deployment"] != 1 || kinds["CronJob"] != 1 || kinds["Service"] != 1 {
		t.Errorf("%v", kinds)
	}
}
