package arrowhttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// tables answers GET /v1/tables.
func (s *Server) tables(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, tablesTakes...)
	if err != nil {
		return err
	}
	names, err := s.cat.Tables(r.Context(), q.Get("namespace"))
	if err != nil {
		return err
	}
	out := struct {
		Tables []string `json:"tables"`
	}{[]string{}}
	for _, n := range names {
		out.Tables = append(out.Tables, n.String())
	}
	return s.writeJSON(w, r, out)
}

// description is the answer of GET /v1/tables/{table}.
type description struct {
	Table      string               `json:"table"`
	UUID       string               `json:"table_uuid"`
	SnapshotID int64                `json:"snapshot_id"`
	Rows       int64                `json:"rows"`
	Bytes      int64                `json:"bytes"`
	Shards     int64                `json:"shards"`
	Partition  []string             `json:"partition"`
	Columns    []catalog.ColumnInfo `json:"columns"`
	// ArrowSchema is the schema of rows as Arrow: an IPC stream without batches. It stands as base64.
	ArrowSchema []byte `json:"arrow_schema"`
}

// table answers GET /v1/tables/{table}.
func (s *Server) table(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, tableTakes...)
	if err != nil {
		return err
	}
	unit, err := timeUnit(q)
	if err != nil {
		return err
	}
	t, err := s.load(r)
	if err != nil {
		return err
	}
	types, err := t.ArrowSchema(unit)
	if err != nil {
		return err
	}
	d := t.Describe()
	out := description{
		Table: d.Name, UUID: d.UUID, SnapshotID: d.SnapshotID, Rows: d.Records, Bytes: d.DataBytes, Shards: d.Shards,
		Partition: append([]string{}, d.Partition...), Columns: d.Columns,
	}
	if out.ArrowSchema, err = arrowtype.MarshalSchema(types); err != nil {
		return err
	}
	return s.writeJSON(w, r, out)
}

// plan answers GET /v1/tables/{table}/plan.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, planTakes...)
	if err != nil {
		return err
	}
	o, err := scanOptions(q)
	if err != nil {
		return err
	}
	size := int64(catalog.DefaultSplitSize)
	if q.Has("split-size") {
		if size, err = count(q, "split-size", 1); err != nil {
			return err
		}
	}
	return s.inTurn(r, func(t *catalog.Table) error {
		p, err := t.Plan(r.Context(), o)
		if err != nil {
			return err
		}
		tasks, err := p.Tasks(r.Context(), size)
		if err != nil {
			return err
		}
		return s.writeJSON(w, r, tasks)
	})
}

// writeJSON writes one document, compressed if the client takes that.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	f := form{media: "application/json", encoding: encodingOf(strings.Join(r.Header.Values("Accept-Encoding"), ","))}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Vary", "Accept-Encoding")
	if f.encoding != "" {
		h.Set("Content-Encoding", f.encoding)
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{})
	out, err := f.encode(&steady{w: w, control: control, stall: s.o.Stall})
	if err == nil {
		_, err = out.Write(text)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
