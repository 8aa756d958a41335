package webui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestPromtool: Prometheus's own tool understands the alert rules and what the dashboard selects, the rules fire where their tests expect it, and
// what is served is well-formed.
func TestPromtool(t *testing.T) {
	promtool := os.Getenv("SHARDCAT_PROMTOOL")
	if promtool == "" {
		t.Skip("SHARDCAT_PROMTOOL does not name a promtool")
	}
	run := func(stdin string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir, c.Stdin = "../../../../deploy/prometheus", strings.NewReader(stdin)
		if said, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	run("", "check", "rules", "alerts.yml")
	run("", "test", "rules", "alerts_test.yml")
	run("", "check", "rules", panelRules(t))
	_, text, _ := newGround(t, Options{}).ask(t, "GET", "/metrics", nil, nil)
	run(text, "check", "metrics")
}

// panelRules writes the expressions of the dashboard as recording rules.
func panelRules(t *testing.T) string {
	t.Helper()
	type rule struct{ Record, Expr string }
	var rules []rule
	for i, expr := range panelExprs(t) {
		rules = append(rules, rule{fmt.Sprintf("panel:%d", i), expr})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
