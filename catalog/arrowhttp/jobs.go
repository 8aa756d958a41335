package arrowhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// maxRuns bounds the JSON that names the runs of a commit: some hundred thousand.
const maxRuns = 16 << 20

// writeRun answers POST /v1/tables/{table}/jobs/{job}/runs: the rows of the body become shards that are part of the table once the job is
// committed. A body that breaks off leaves nothing.
func (s *Server) writeRun(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, runTakes...)
	if err != nil {
		return err
	}
	format, err := bodyFormat(r)
	if err != nil {
		return err
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		var out *catalog.WrittenShards
		err := s.withBody(t, w, r, format, func(rows fileio.Source) (err error) {
			out, err = t.WriteShards(r.Context(), rows, q.Get("part"), catalog.IngestOptions{JobID: r.PathValue("job")})
			return err
		})
		if err != nil {
			return err
		}
		return s.writeJSON(w, r, out)
	})
}

// commitJob answers POST /v1/tables/{table}/jobs/{job}/commit.
func (s *Server) commitJob(w http.ResponseWriter, r *http.Request) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	var given struct {
		Runs []string `json:"runs"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRuns)).Decode(&given)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "usage", Detail: fmt.Sprintf("runs of more than %d bytes", large.Limit)}
	}
	if err != nil || given.Runs == nil {
		return fmt.Errorf(`%w: the body is {"runs": […]}, with the names returned when they were written`, catalog.ErrInvalid)
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		in, err := t.CommitShards(r.Context(), "", r.PathValue("job"), given.Runs)
		if err != nil {
			return err
		}
		return s.writeJSON(w, r, in)
	})
}

// discardJob answers DELETE /v1/tables/{table}/jobs/{job}.
func (s *Server) discardJob(w http.ResponseWriter, r *http.Request) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		n, err := t.DiscardShards(r.Context(), r.PathValue("job"))
		if err != nil {
			return err
		}
		return s.writeJSON(w, r, struct {
			JobID     string `json:"job_id"`
			Discarded int    `json:"discarded_runs"`
		}{r.PathValue("job"), n})
	})
}
