package arrowhttp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog/arrowhttp"
)

// Many requests write shards, one commits those that it names, and the others leave nothing.
func TestRunsOfAJob(t *testing.T) {
	g := newGround(t, arrowhttp.Options{WriteToken: "w"})
	table := g.table("default.people", shardOf(0, 10))
	headers := map[string]string{"Authorization": "Bearer w", "Content-Type": "application/x-ndjson"}
	write := func(path, body string, want int) (run string) {
		t.Helper()
		answer, text := g.ask("POST", path, headers, strings.NewReader(body))
		var said struct {
			Run string
		}
		if err := json.Unmarshal([]byte(text), &said); err != nil || answer.StatusCode != want {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
		return said.Run
	}
	const runs, commit = "/v1/tables/people/jobs/load/runs", "/v1/tables/people/jobs/load/commit"
	first, twice := write(runs+"?part=0", `{"id":100}`+"\n"+`{"id":101}`, 200), write(runs+"?part=0", `{"id":100}`, 200)
	second := write(runs+"?part=1", `{"id":102}`, 200)
	write(runs+"?part=2", `{"id":103}`+"\n"+`{"id":`, 400)
	write(runs+"?parts=2", `{"id":103}`, 400)
	if d := table.Describe(); d.Records != 10 {
		t.Errorf("%d rows before the commit", d.Records)
	}
	write(commit, `{}`, 400)
	write(commit, `{"runs":["`+first+`","`+twice+`"]}`, 400)
	write(commit, `{"runs":["load.nobody"]}`, 404)
	write("/v1/tables/nobody/jobs/load/commit", `{"runs":[]}`, 404)
	for range 2 { // the second time reports about the first
		write(commit, `{"runs":["`+first+`","`+second+`"]}`, 200)
	}
	if run := write(runs, `{"id":104}`, 200); run != "" {
		t.Errorf("%s wrote for a job that is committed", run)
	}
	_, text := g.ask("GET", "/v1/tables/people/rows?select=id&where=id>=100&format=csv", nil, nil)
	if lines := strings.Fields(text); len(lines) != 4 || !slices.Equal(slices.Sorted(slices.Values(lines[1:])), []string{"100", "101", "102"}) {
		t.Errorf("rows %q", text) // of one snapshot, by the paths of shards, which are random
	}
	write("/v1/tables/people/jobs/other/runs", `{"id":105}`, 200)
	answer, text := g.ask("DELETE", "/v1/tables/people/jobs/other", headers, nil)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"discarded_runs":1`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	write("/v1/tables/people/jobs/other/commit", `{"runs":["other"]}`, 409)
	for _, route := range [][2]string{{"POST", runs}, {"POST", commit}, {"DELETE", "/v1/tables/people/jobs/load"}} {
		if answer, _ := g.ask(route[0], route[1], nil, strings.NewReader("{}")); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%v without the token: %d", route, answer.StatusCode)
		}
	}
}
