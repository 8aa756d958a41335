package arrowhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/shardcat/shardcat/catalog"
)

// maxTask bounds the JSON of one task.
const maxTask = 1 << 20

// load finds the table of a path.
func (s *Server) load(r *http.Request) (*catalog.Table, error) {
	name, err := catalog.ParseName(r.PathValue("table"))
	if err != nil {
		return nil, err
	}
	return s.cat.Load(r.Context(), name)
}

// rows answers GET /v1/tables/{table}/rows.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, rowsTakes...)
	if err != nil {
		return err
	}
	if q.Has("task") {
		for _, name := range append([]string{"limit", "order-by"}, scanParameters...) {
			if q.Has(name) {
				return fmt.Errorf("%w: %s can't be given with a task, which has its own", catalog.ErrInvalid, name)
			}
		}
		return s.readTask(w, r, []byte(q.Get("task")))
	}
	f, err := formOf(r, q)
	if err != nil {
		return err
	}
	o, err := scanOptions(q)
	if err != nil {
		return err
	}
	o.Runs = true
	memory := s.share()
	if len(o.OrderBy) > 0 {
		memory, o.SortMemory = sortShare(memory)
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		p, err := t.Plan(r.Context(), o)
		if err != nil {
			return err
		}
		p.LimitMemory(memory)
		return s.answer(w, r, p, f)
	})
}

// sortShare splits the memory of an answer between the values that are read and those that wait to be sorted, which take three times as
// much for a moment.
func sortShare(memory int64) (read, wait int64) { return memory / 2, max(1, memory/8) }

// task answers POST /v1/tables/{table}/task.
func (s *Server) task(w http.ResponseWriter, r *http.Request) error {
	if _, err := parameters(r, taskTakes...); err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTask))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "usage", Detail: fmt.Sprintf("a task of more than %d bytes", large.Limit)}
	}
	if err != nil {
		return fmt.Errorf("%w: the task: %w", catalog.ErrInvalid, err)
	}
	return s.readTask(w, r, text)
}

// readTask answers with the rows of one task.
func (s *Server) readTask(w http.ResponseWriter, r *http.Request, text []byte) error {
	f, err := formOf(r, r.URL.Query())
	if err != nil {
		return err
	}
	var task catalog.Task
	if err := json.Unmarshal(text, &task); err != nil {
		return fmt.Errorf("%w: not a task of a plan: %w", catalog.ErrInvalid, err)
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		p, err := t.PlanTask(&task)
		if err != nil {
			return err
		}
		p.LimitMemory(s.share())
		return s.answer(w, r, p, f)
	})
}

// inTurn waits for a turn, loads the table of a path, and does something with it.
func (s *Server) inTurn(r *http.Request, do func(*catalog.Table) error) error {
	return s.inTurnOf(r, s.cat.Load, do)
}

// inTurnOf is inTurn for a table that load gives.
func (s *Server) inTurnOf(r *http.Request, load func(context.Context, catalog.Name) (*catalog.Table, error), do func(*catalog.Table) error) error {
	release, err := s.slots.take(r)
	if p := (*problem)(nil); errors.As(err, &p) {
		s.stats.refused.Add(1)
	}
	if err != nil {
		return err
	}
	defer release()
	name, err := catalog.ParseName(r.PathValue("table"))
	if err != nil {
		return err
	}
	t, err := load(r.Context(), name)
	if err != nil {
		return err
	}
	return do(t)
}
