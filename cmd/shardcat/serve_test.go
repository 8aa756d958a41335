package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/notify"
	"github.com/shardcat/shardcat/compaction"
)

// TestServe starts the service as a person would, sees it compact, and ends it.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	at := []string{"--catalog", "sqlite:" + filepath.Join(dir, "catalog.db"), "--warehouse", filepath.Join(dir, "warehouse")}
	for range 3 {
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(`{"a":1}`), &out, &errs)
		if err := a.execute(t.Context(), append(at, "ingest", "t", "-", "--create", "--format", "ndjson")); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		a.finish(t.Context(), nil)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("tables:\n  t: {schedule: 1s, min-inputs: \"3\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at = append(at, "--config", config)
	ctx, stop := context.WithCancel(t.Context())
	// The process itself must outlive a signal that comes while the service ends.
	hangups := make(chan os.Signal, 2)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	r, w := io.Pipe()
	told, logs := io.Pipe()
	done := make(chan int, 1)
	go func() {
		defer logs.Close()
		a := newApp(strings.NewReader(""), w, logs)
		done <- a.finish(ctx, a.execute(ctx, append(at, "serve", "--listen", "127.0.0.1:0", "--json")))
	}()
	answers := make(chan string, 2)
	go func() {
		for lines := bufio.NewScanner(told); lines.Scan(); {
			for _, answer := range []string{"settings of the configuration file reloaded", "the configuration file could not be read"} {
				if strings.Contains(lines.Text(), answer) {
					answers <- answer
				}
			}
		}
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var at1 struct{ Address, URL string }
	if err := json.Unmarshal(line, &at1); err != nil || at1.Address == "" {
		t.Fatalf("%s: %v", line, err)
	}
	awaitTable(t, at1.URL, func(st servedTable) bool { return st.State == "waiting" && st.Shards == 1 && st.Schedule == "1s" })
	// The file is read again at SIGHUP; what can't be meant changes nothing.
	for _, c := range []struct{ text, answer string }{
		{"tables:\n  t: {schedule: 2h}\n", "settings of the configuration file reloaded"},
		{"tables:\n  t: {schedule: never}\n", "the configuration file could not be read"},
	} {
		if err := os.WriteFile(config, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-hangups
		select {
		case answer := <-answers:
			if answer != c.answer {
				t.Errorf("%q: %s", c.text, answer)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q: the log has no line with %q", c.text, c.answer)
		}
		awaitTable(t, at1.URL, func(st servedTable) bool { return st.State == "waiting" && st.Schedule == "2h" })
	}
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("ended with %d", code)
	}
}

// servedTable is a table in the service's report.
type servedTable struct {
	Table, State, Schedule string
	Shards                 int
}

// awaitTable calls the service until its only table is as wanted.
func awaitTable(t *testing.T, url string, wanted func(servedTable) bool) {
	t.Helper()
	var tables []servedTable
	for range 600 {
		answer, err := http.Get(url + "api/tables")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(answer.Body).Decode(&tables)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(tables) == 1 && wanted(tables[0]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("not within 30 s: %+v", tables)
}

// TestFailureTellerOutlivesTheService: notifications under way when the service ends are completed.
func TestFailureTellerOutlivesTheService(t *testing.T) {
	asked, answer, got := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-answer
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- string(text)
	}))
	defer hook.Close()
	ctx, end := context.WithCancel(t.Context())
	tell, wait := failureTeller(ctx, &notify.Notifier{URL: hook.URL}, slog.New(slog.DiscardHandler))
	tell(compaction.TableStatus{Table: catalog.Name{Namespace: "default", Table: "t"}})
	<-asked
	end()
	close(answer)
	wait()
	select {
	case text := <-got:
		if !strings.Contains(text, `"table":"default.t"`) {
			t.Error(text)
		}
	default:
		t.Error("nobody was told")
	}
}
