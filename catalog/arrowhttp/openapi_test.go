package arrowhttp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The document, the page and the routes tell of the same paths, methods and parameters.
func TestOpenAPIIsWhatIsServed(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Ref string `json:"$ref"`
			}
		}
		Components struct {
			Parameters map[string]struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(openAPIDocument, &document); err != nil {
		t.Fatal(err)
	}
	takes := map[string][]string{
		"GET /v1/tables": tablesTakes, "GET /v1/tables/{table}": tableTakes, "GET /v1/tables/{table}/plan": planTakes,
		"GET /v1/tables/{table}/rows": rowsTakes, "POST /v1/tables/{table}/task": taskTakes, "POST /v1/tables/{table}/rows": appendTakes,
		"POST /v1/tables/{table}/jobs/{job}/runs": runTakes, "POST /v1/tables/{table}/jobs/{job}/commit": {}, "DELETE /v1/tables/{table}/jobs/{job}": {},
	}
	var told []string
	for path, methods := range document.Paths {
		for method, operation := range methods {
			route := strings.ToUpper(method) + " " + path
			told = append(told, route)
			var names []string
			for _, p := range operation.Parameters {
				if name := strings.TrimPrefix(p.Ref, "#/components/parameters/"); name != p.Ref {
					names = append(names, name)
					if c := document.Components.Parameters[name]; c.Name != name || c.Description == "" {
						t.Errorf("parameter %q is not described", name)
					}
				}
			}
			if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(takes[route]))) {
				t.Errorf("%s takes %q, the document says %q", route, takes[route], names)
			}
			row := "<tr><td><code>" + strings.NewReplacer("{table}", "T", "{job}", "J").Replace(route) + "</code><td>"
			at := strings.Index(string(pageDocument), row)
			if takes[route] == nil {
				continue
			}
			if at < 0 {
				t.Errorf("the page lacks %s", route)
				continue
			}
			line, _, _ := strings.Cut(string(pageDocument[at:]), "\n")
			for _, name := range takes[route] {
				if !strings.Contains(line, "<code>"+name+"</code>") {
					t.Errorf("the page lacks %s of %s", name, route)
				}
			}
		}
	}
	var served []string
	for route := range maps.Keys((&Server{}).routes()) {
		served = append(served, strings.Replace(route, "{$}", "", 1))
	}
	slices.Sort(told)
	slices.Sort(served)
	if !slices.Equal(told, served) {
		t.Errorf("told %q\nserved %q", told, served)
	}
}
