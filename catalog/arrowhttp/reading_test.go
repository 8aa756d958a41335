package arrowhttp_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	arrowType = "application/vnd.apache.arrow.stream"
	csvOfTwo  = "id,name,price,at\n1,n1,1.50,2024-01-01T00:00:01Z\n2,n2,2.50,2024-01-01T00:00:02Z\n"
)

// Accept, or format, chooses how rows come; encodings pack text, and the rows are the same.
func TestFormats(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(1, 3))
	lines := `{"id":1,"name":"n1","price":"1.50","at":"2024-01-01T00:00:01Z"}` + "\n" + `{"id":2,"name":"n2","price":"2.50","at":"2024-01-01T00:00:02Z"}` + "\n"
	for _, c := range []struct{ accept, format, media, want string }{
		{"", "", "application/x-ndjson; charset=utf-8", lines},
		{"*/*", "", "application/x-ndjson; charset=utf-8", lines},
		{"text/*;q=0.5, application/x-ndjson;q=0.4", "", "text/csv; charset=utf-8; header=present", csvOfTwo},
		{"text/csv", "", "text/csv; charset=utf-8; header=present", csvOfTwo},
		{"text/csv", "ndjson", "application/x-ndjson; charset=utf-8", lines},
		{"application/jsonl", "", "application/jsonl; charset=utf-8", lines},
	} {
		answer, text := g.ask("GET", rowsPath("t", "format", c.format), map[string]string{"Accept": c.accept}, nil)
		if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != c.media || text != c.want {
			t.Errorf("Accept %q, format %q: %d %v\n%s", c.accept, c.format, answer.StatusCode, answer.Header, text)
		}
	}
	for accept, unpack := range map[string]func([]byte) (io.Reader, error){
		"gzip":                   func(b []byte) (io.Reader, error) { return gzip.NewReader(bytes.NewReader(b)) },
		"gzip;q=0.5, zstd;q=0.9": func(b []byte) (io.Reader, error) { return zstd.NewReader(bytes.NewReader(b)) },
		"deflate, br":            func(b []byte) (io.Reader, error) { return bytes.NewReader(b), nil },
	} {
		answer, text := g.ask("GET", rowsPath("t", "format", "csv"), map[string]string{"Accept-Encoding": accept}, nil)
		want := map[string]string{"gzip": "gzip", "gzip;q=0.5, zstd;q=0.9": "zstd"}[accept]
		r, err := unpack([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != csvOfTwo || answer.Header.Get("Content-Encoding") != want {
			t.Errorf("Accept-Encoding %q: %v %v %q", accept, answer.Header, err, got)
		}
	}
	if answer, text := g.ask("HEAD", rowsPath("t", "format", "csv"), nil, nil); answer.StatusCode != 200 || text != "" {
		t.Errorf("HEAD: %d %q", answer.StatusCode, text)
	}
}

// Arrow's records have the types that the table was made of, and zstd in their buffers unless that is not wanted.
func TestArrowStream(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(0, 2000))
	sizes := map[string]int{}
	for _, compression := range []string{"zstd", "none"} {
		answer, text := g.ask("GET", rowsPath("t", "compression", compression), map[string]string{"Accept": arrowType, "Accept-Encoding": "gzip"}, nil)
		if answer.Header.Get("Content-Type") != arrowType || answer.Header.Get("Content-Encoding") != "" {
			t.Fatalf("%v", answer.Header)
		}
		sizes[compression] = len(text)
		r, err := ipc.NewReader(strings.NewReader(text))
		if err != nil || !r.Schema().Equal(people) {
			t.Fatalf("%v: %v", err, r.Schema())
		}
		if ids := idsOf(t, strings.NewReader(text)); len(ids) != 2000 || ids[1999] != 1999 {
			t.Errorf("%s: %d rows", compression, len(ids))
		}
	}
	if sizes["zstd"]*2 > sizes["none"] {
		t.Errorf("sizes %v: nothing is compressed", sizes)
	}
}

func TestWhereSelectLimitSnapshot(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	table := g.table("t", shardOf(0, 10))
	first := strconv.FormatInt(table.Head(), 10)
	if _, err := table.CreateTag(t.Context(), "v1", 0); err != nil {
		t.Fatal(err)
	}
	g.appendTo(table, shardOf(10, 20))
	for _, c := range []struct {
		parameters []string
		want       string
	}{
		{[]string{"where", "id IN (3, 15)", "select", "name"}, "name\nn3\nn15\n"},
		{[]string{"select", "id", "limit", "2"}, "id\n0\n1\n"},
		{[]string{"select", "id", "limit", "0"}, "id\n"},
		{[]string{"select", "id", "where", "id > 8", "snapshot", first}, "id\n9\n"},
		{[]string{"select", "id", "where", "id > 8", "ref", "v1"}, "id\n9\n"},
		{[]string{"select", "id", "where", "price = 12.5"}, "id\n12\n"},
	} {
		answer, text := g.ask("GET", rowsPath("t", append(c.parameters, "format", "csv")...), nil, nil)
		if answer.StatusCode != 200 || text != c.want {
			t.Errorf("%v: %d\n%s", c.parameters, answer.StatusCode, text)
		}
	}
}

// TestRowsInOrder: order-by gives the first rows in the order of columns, whether or not they fit into the sort's memory.
func TestRowsInOrder(t *testing.T) {
	t.Parallel()
	for _, o := range []arrowhttp.Options{{}, {Answers: 4, MaxMemory: 4 << 20}} {
		g := newGround(t, o)
		table := g.table("t", shardOf(0, 7_000))
		g.appendTo(table, shardOf(7_000, 10_000))
		g.appendTo(table, `[{"id":null,"name":"none","price":"1.50","at":1704067200000000}]`)
		numbers := func(column string, from, to, step int) string {
			out := []string{column}
			for i := from; i != to; i += step {
				out = append(out, strconv.Itoa(i))
			}
			return strings.Join(out, "\n") + "\n"
		}
		for _, c := range []struct {
			parameters []string
			want       string
		}{
			{[]string{"select", "id", "order-by", "id desc", "limit", "3"}, "id\n9999\n9998\n9997\n"},
			{[]string{"select", "name", "order-by", "at desc, id", "limit", "2"}, "name\nn59\nn119\n"},
			{[]string{"select", "name", "order-by", "id nulls first", "limit", "2"}, "name\nnone\nn0\n"},
			{[]string{"select", "id", "order-by", "id desc", "where", "id < 5", "limit", "100"}, "id\n4\n3\n2\n1\n0\n"},
			{[]string{"select", "id", "order-by", "id desc", "limit", "9000"}, numbers("id", 9_999, 999, -1)},
			{[]string{"select", "id", "order-by", "id", "limit", "0"}, "id\n"},
		} {
			answer, text := g.ask("GET", rowsPath("t", append(c.parameters, "format", "csv")...), nil, nil)
			if answer.StatusCode != 200 || text != c.want {
				t.Errorf("%v: %d\n%.200s", c.parameters, answer.StatusCode, text)
			}
		}
	}
}

func TestTablesAndTheirSchemas(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	table := g.table("ns.t", shardOf(0, 5), shardOf(5, 7))
	g.table("u")
	if _, text := g.ask("GET", "/v1/tables", nil, nil); text != `{"tables":["default.u","ns.t"]}` {
		t.Error(text)
	}
	if _, text := g.ask("GET", "/v1/tables?namespace=ns", nil, nil); text != `{"tables":["ns.t"]}` {
		t.Error(text)
	}
	_, text := g.ask("GET", "/v1/tables/ns.t", nil, nil)
	var d struct {
		SnapshotID   int64 `json:"snapshot_id"`
		Rows, Shards int64
		Columns      []struct{ Name, Type string }
		ArrowSchema  string `json:"arrow_schema"`
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.Rows != 7 || d.Shards != 2 || d.SnapshotID != table.Head() || len(d.Columns) != 4 || d.Columns[2].Type != "Decimal" {
		t.Errorf("%+v in %s", d, text)
	}
	stream, err := base64.StdEncoding.DecodeString(d.ArrowSchema)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil || !r.Schema().Equal(people) {
		t.Errorf("%v: %v", err, r.Schema())
	}
}

// A plan's tasks, read one by one in either way, give every row once.
func TestTasks(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(0, 50), shardOf(50, 90), shardOf(90, 100))
	plan := g.plan("t", "split-size", "100", "where", "id >= 10")
	if len(plan.Tasks) < 4 {
		t.Fatalf("%d tasks", len(plan.Tasks))
	}
	var ids []int64
	for i, task := range plan.Tasks {
		text, _ := json.Marshal(task)
		stream := ""
		if i%2 == 0 {
			_, stream = g.ask("GET", rowsPath("t", "task", string(text), "format", "arrow"), nil, nil)
		} else {
			_, stream = g.ask("POST", "/v1/tables/t/task", map[string]string{"Accept": arrowType}, bytes.NewReader(text))
		}
		ids = append(ids, idsOf(t, strings.NewReader(stream))...)
	}
	slices.Sort(ids)
	if len(ids) != 90 || ids[0] != 10 || ids[89] != 99 || len(slices.Compact(ids)) != 90 {
		t.Errorf("rows %v", ids)
	}
}

func (g *ground) plan(table string, parameters ...string) catalog.TaskPlan {
	g.t.Helper()
	answer, text := g.ask("GET", strings.Replace(rowsPath(table, parameters...), "/rows?", "/plan?", 1), nil, nil)
	var plan catalog.TaskPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil || answer.StatusCode != 200 {
		g.t.Fatalf("%d %v: %s", answer.StatusCode, err, text)
	}
	return plan
}

func TestProblems(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(0, 3))
	g.table("u", shardOf(0, 3))
	task := g.plan("t").Tasks[0]
	changed := func(change func(*catalog.Task)) string {
		other := task
		change(&other)
		text, _ := json.Marshal(other)
		return "/v1/tables/t/rows?task=" + url.QueryEscape(string(text))
	}
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/v1/tables/nobody":                                                       {404, "not_found"},
		"/v1/tables/nobody/rows":                                                  {404, "not_found"},
		"/v1/tables/a%20b/rows":                                                   {400, "usage"},
		"/v1/elsewhere":                                                           {404, "not_found"},
		rowsPath("t", "where", "id ="):                                            {400, "usage"},
		rowsPath("t", "where", "x = 1"):                                           {400, "usage"},
		rowsPath("t", "select", "x"):                                              {400, "usage"},
		rowsPath("t", "limit", "-1"):                                              {400, "usage"},
		rowsPath("t", "limits", "1"):                                              {400, "usage"},
		rowsPath("t", "order-by", "id"):                                           {400, "usage"},
		rowsPath("t", "order-by", "id", "limit", "100001"):                        {400, "usage"},
		rowsPath("t", "order-by", "", "limit", "1"):                               {400, "usage"},
		rowsPath("t", "order-by", "id up", "limit", "1"):                          {400, "usage"},
		rowsPath("t", "order-by", "x", "limit", "1"):                              {400, "usage"},
		rowsPath("t", "order-by", "x", "limit", "0"):                              {400, "usage"},
		rowsPath("t", "task", "{}", "order-by", "id"):                             {400, "usage"},
		"/v1/tables/t/plan?order-by=id":                                           {400, "usage"},
		"/v1/tables/t/rows?where=":                                                {400, "usage"},
		"/v1/tables/t/plan?ref=":                                                  {400, "usage"},
		"/v1/tables/t/rows?where=id+%3D+1&where=id+%3D+2":                         {400, "usage"},
		rowsPath("t", "snapshot", "12"):                                           {404, "not_found"},
		rowsPath("t", "ref", "nobody"):                                            {404, "not_found"},
		rowsPath("t", "as-of", "noon"):                                            {400, "usage"},
		rowsPath("t", "ref", "main", "snapshot", "1"):                             {400, "usage"},
		rowsPath("t", "format", "parquet"):                                        {400, "usage"},
		rowsPath("t", "time-unit", "days"):                                        {400, "usage"},
		rowsPath("t", "task", "{"):                                                {400, "usage"},
		rowsPath("t", "task", "{}"):                                               {400, "usage"},
		rowsPath("t", "task", "{}", "limit", "1"):                                 {400, "usage"},
		"/v1/tables/t/rows?limit=1&limit=2":                                       {400, "usage"},
		"/v1/tables/t/rows?limit=%zz":                                             {400, "usage"},
		"/v1/tables/t/plan?split-size=0":                                          {400, "usage"},
		"/v1/tables/t/plan?limit=1":                                               {400, "usage"},
		changed(func(t *catalog.Task) { t.Version = 9 }):                          {400, "usage"},
		changed(func(t *catalog.Task) { t.End = 99 }):                             {400, "usage"},
		changed(func(t *catalog.Task) { t.UUID = "u" }):                           {409, "conflict"},
		changed(func(t *catalog.Task) { t.SchemaID = 77 }):                        {404, "not_found"},
		changed(func(t *catalog.Task) { t.Shard = "file:///etc/x.amudai.shard" }): {403, "unsafe"},
		changed(func(t *catalog.Task) { t.Shard = strings.Replace(t.Shard, ".amudai", "0.amudai", 1) }): {410, "not_found"},
	} {
		answer, text := g.ask("GET", path, nil, nil)
		if p := problemIn(t, answer, text); p.Status != want.status || p.Code != want.code {
			t.Errorf("GET %s: %d %+v, want %v", path, answer.StatusCode, p, want)
		}
	}
	if answer, text := g.ask("GET", rowsPath("t"), map[string]string{"Accept": "image/png"}, nil); problemIn(t, answer, text).Status != 406 {
		t.Errorf("Accept of another type: %d", answer.StatusCode)
	}
	if answer, text := g.ask("POST", "/v1/tables/t/task", nil, strings.NewReader(strings.Repeat(" ", 2<<20))); problemIn(t, answer, text).Status != 413 {
		t.Errorf("a huge task: %d", answer.StatusCode)
	}
	for where, caret := range map[string]string{"id > 1 AND x = 1": "           ^", "id > = 2": "     ^", "id = 'a'": "     ^"} {
		for _, path := range []string{rowsPath("t", "where", where), strings.Replace(rowsPath("t", "where", where), "/rows", "/plan", 1)} {
			answer, text := g.ask("GET", path, nil, nil)
			if p := problemIn(t, answer, text); p.Status != 400 || !strings.HasSuffix(p.Detail, "\n"+where+"\n"+caret) {
				t.Errorf("GET %s: %d %q, want a caret", path, p.Status, p.Detail)
			}
		}
	}
}

// A far date is reported at once where it is in the first rows, and fits the unit that has space for it.
func TestFarDates(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{WriteToken: "w"})
	s := &schema.Schema{Fields: []*schema.Node{{Name: "at", Basic: schema.DateTime, Nullable: true}}}
	s.Number()
	if _, err := g.cat.Create(t.Context(), catalog.Name{Table: "far"}, catalog.CreateOptions{Schema: s, CreateNamespace: true}); err != nil {
		t.Fatal(err)
	}
	answer, text := g.ask("POST", "/v1/tables/far/rows", map[string]string{"Authorization": "Bearer w", "Content-Type": "application/x-ndjson"},
		strings.NewReader(`{"at":"9999-12-31T23:59:59Z"}`))
	if answer.StatusCode != 200 {
		t.Fatal(text)
	}
	answer, text = g.ask("GET", rowsPath("far", "format", "arrow"), nil, nil)
	if p := problemIn(t, answer, text); p.Status != 422 || !strings.Contains(p.Detail, "time unit") {
		t.Errorf("%+v", p)
	}
	if answer, _ := g.ask("GET", rowsPath("far", "format", "arrow", "time-unit", "us"), nil, nil); answer.StatusCode != 200 {
		t.Errorf("microseconds: %d", answer.StatusCode)
	}
	if _, text := g.ask("GET", rowsPath("far"), nil, nil); text != "{\"at\":\"9999-12-31T23:59:59Z\"}\n" {
		t.Error(text)
	}
}

// A split size that makes more tasks than anybody reads is refused, with the least that is not.
func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(0, 60_000))
	where := "id >= 0 AND name != '" + strings.Repeat("x", 4000) + "'"
	answer, text := g.ask("GET", strings.Replace(rowsPath("t", "split-size", "1", "where", where), "/rows?", "/plan?", 1), nil, nil)
	if answer.StatusCode != 400 || !strings.Contains(text, "split size 1: about ") {
		t.Fatalf("%d: %s", answer.StatusCode, text)
	}
	_, least, _ := strings.Cut(text, "; use ")
	least, _, _ = strings.Cut(least, " ")
	if plan := g.plan("t", "split-size", least, "where", where); len(plan.Tasks) < 100 {
		t.Errorf("%d tasks with %s", len(plan.Tasks), least)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	open := newGround(t, arrowhttp.Options{})
	closed := newGround(t, arrowhttp.Options{ReadToken: "read me", WriteToken: "write me"})
	for _, g := range []*ground{open, closed} {
		g.table("t", shardOf(0, 1))
	}
	post := func(g *ground, token string) int {
		answer, _ := g.ask("POST", "/v1/tables/t/rows", map[string]string{"Authorization": token, "Content-Type": "application/x-ndjson"}, strings.NewReader(`{"id":9}`))
		return answer.StatusCode
	}
	for _, c := range []struct {
		g      *ground
		header map[string]string
		want   int
	}{
		{open, nil, 200},
		{open, map[string]string{"Host": "rebound.example:80"}, 403},
		{open, map[string]string{"X-Forwarded-For": "10.0.0.1"}, 403},
		{open, map[string]string{"Via": "1.1 proxy"}, 403},
		{open, map[string]string{"X-Real-IP": "10.0.0.1"}, 403},
		{open, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{open, map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{closed, nil, 401},
		{closed, map[string]string{"Authorization": "Bearer read"}, 401},
		{closed, map[string]string{"Authorization": "Basic read me"}, 401},
		{closed, map[string]string{"Authorization": "Bearer read me"}, 200},
		{closed, map[string]string{"Authorization": "bearer read me", "X-Forwarded-For": "10.0.0.1"}, 200},
		{closed, map[string]string{"Authorization": "Bearer write me"}, 200},
	} {
		for _, path := range []string{"/v1/tables", "/v1/tables/t", "/v1/tables/t/plan", "/v1/tables/t/rows"} {
			answer, text := c.g.ask("GET", path, c.header, nil)
			if answer.StatusCode != c.want {
				t.Errorf("GET %s with %v: %d, want %d: %s", path, c.header, answer.StatusCode, c.want, text)
			}
			if answer.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("GET %s: a page of another site may embed the answer", path)
			}
			if c.want == 401 && answer.Header.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
	}
	for token, want := range map[string]int{"": 401, "Bearer read me": 401, "Bearer write me": 200} {
		if code := post(closed, token); code != want {
			t.Errorf("append with %q: %d", token, code)
		}
	}
	if code := post(open, "Bearer "); code != 403 {
		t.Errorf("append without a token on the server: %d", code)
	}
}

// Rows that are sent are committed once, whole, or not at all.
func TestAppend(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{WriteToken: "w"})
	table := g.table("t", shardOf(0, 1))
	post := func(media, path, body string) (int, string) {
		answer, text := g.ask("POST", "/v1/tables/t/rows"+path, map[string]string{"Authorization": "Bearer w", "Content-Type": media}, strings.NewReader(body))
		return answer.StatusCode, text
	}
	_, stream := g.ask("GET", rowsPath("t", "format", "arrow"), nil, nil)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "id,name\n7,seven\n")
	z.Close()
	rows := int64(1)
	for _, c := range []struct {
		media, path, body string
		status            int
		adds              int64
	}{
		{arrowType, "", stream, 200, 1},
		{"application/x-ndjson", "", `{"id":5}` + "\n" + `{"id":6}`, 200, 2},
		{"application/x-ndjson", "?job-id=once", `{"id":8}`, 200, 1},
		{"application/x-ndjson", "?job-id=once", `{"id":8}`, 200, 0},
		{"text/csv; charset=utf-8", "", packed.String(), 200, 1},
		{"text/plain", "", "x", 415, 0},
		{"application/x-ndjson", "", `{"id":5}` + "\n" + `{"id":`, 400, 0},
		{"application/x-ndjson", "", `{"nobody":5}`, 400, 0},
		{"application/x-ndjson", "?jobid=x", `{"id":5}`, 400, 0},
		{arrowType, "", stream[:len(stream)/2], 400, 0},
	} {
		code, text := post(c.media, c.path, c.body)
		if rows += c.adds; code != c.status {
			t.Errorf("%s%s: %d, want %d: %s", c.media, c.path, code, c.status, text)
		}
		if err := table.Refresh(t.Context()); err != nil || table.Describe().Records != rows {
			t.Fatalf("after %s%s: %d rows, want %d (%v)", c.media, c.path, table.Describe().Records, rows, err)
		}
	}
}
