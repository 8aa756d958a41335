package arrowhttp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The document, the page and the routes report about the same paths, methods and parameters.
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
			reference := referenceRow(t, strings.NewReplacer("{table}", "T", "{job}", "J").Replace(route))
			for _, name := range takes[route] {
				if !strings.Contains(line, "<code>"+name+"</code>") {
					t.Errorf("the page lacks %s of %s", name, route)
				}
				if !slices.Contains(reference, name) {
					t.Errorf("docs/reference/http.md lacks %s of %s", name, route)
				}
			}
			if len(reference) != len(takes[route]) {
				t.Errorf("docs/reference/http.md has the parameters %q of %s, which takes %q", reference, route, takes[route])
			}
		}
	}
	var served []string
	for route := range maps.Keys((&Server{}).routes()) {
		served = append(served, strings.Replace(route, "{$}", "", 1))
	}
	if documented := referenceRoutes(t); len(documented) != len(told) {
		t.Errorf("docs/reference/http.md has the paths %q, the document %q", documented, told)
	}
	slices.Sort(told)
	slices.Sort(served)
	if !slices.Equal(told, served) {
		t.Errorf("told %q\nserved %q", told, served)
	}
}

// referencePage is docs/reference/http.md.
func referencePage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/http.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// referenceRoutes are the rows of docs/reference/http.md for paths below /v1/.
func referenceRoutes(t *testing.T) []string {
	return regexp.MustCompile("(?m)^\\| `[A-Z]+ /v1/[^`]*`").FindAllString(referencePage(t), -1)
}

// referenceRow are the parameters of a route in docs/reference/http.md.
func referenceRow(t *testing.T, route string) (parameters []string) {
	t.Helper()
	_, row, ok := strings.Cut(referencePage(t), "\n| `"+route+"` | ")
	if !ok {
		t.Errorf("docs/reference/http.md lacks %s", route)
	}
	cell, _, _ := strings.Cut(row, "|")
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		parameters = append(parameters, m[1])
	}
	return parameters
}

// TestReferenceHasEveryProblem: docs/reference/http.md has a row for each status with the code of each class of errors, and each code of
// the OpenAPI document.
func TestReferenceHasEveryProblem(t *testing.T) {
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| ([0-9, ]+) \\| `([a-z_]+)`(?:, `([a-z_]+)`)? \\|").FindAllStringSubmatch(referencePage(t), -1) {
		for status := range strings.SplitSeq(m[1], ", ") {
			rows[status+" "+m[2]] = true
		}
		rows[m[2]] = true
	}
	for _, c := range classes {
		if row := fmt.Sprintf("%d %s", c.status, c.code); !rows[row] {
			t.Errorf("docs/reference/http.md lacks %s", row)
		}
	}
	var document struct {
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct{ Code struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(openAPIDocument, &document); err != nil {
		t.Fatal(err)
	}
	codes := document.Components.Schemas.Problem.Properties.Code.Enum
	if len(codes) < 10 {
		t.Fatalf("the document has the codes %q", codes)
	}
	for _, code := range codes {
		if !rows[code] {
			t.Errorf("docs/reference/http.md lacks the code %s", code)
		}
	}
}
