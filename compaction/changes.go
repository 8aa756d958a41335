package compaction

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// A service reads a table's settings when the table is due, which may be in a day. So a change of settings leaves a record
// vault/_settings/<uuid>.json that names the table or namespace; services list the folder when they look for new tables, and the
// tables that a new record names are due. A change whose record can't be written acts by the schedule.

const (
	settingsFolder = "/_settings/"
	// settingsKept is the age from which on a service deletes a record: every other one has seen it.
	settingsKept = 24 * time.Hour
	// maxSettingsRecord bounds what is read of a record.
	maxSettingsRecord = 4 << 10
)

// settingsChange is the content of a record.
type settingsChange struct {
	Version int `json:"version"`
	// Of is the name of a table, or of a namespace with ".*" behind it.
	Of string `json:"of"`
}

// concernsServices reports whether services may act by one of the properties: settings of compaction, retention, indexes.
func concernsServices(set map[string]string, remove []string) bool {
	return slices.ContainsFunc(slices.AppendSeq(slices.Clone(remove), maps.Keys(set)), func(key string) bool { return strings.HasPrefix(key, "shardcat.") })
}

// noteChange leaves the record of a change.
func noteChange(ctx context.Context, c *catalog.Catalog, of string) {
	text, err := json.Marshal(settingsChange{1, of})
	if err == nil {
		err = c.Client().Put(context.WithoutCancel(ctx), c.Vault()+settingsFolder+uuid.NewString()+".json", text)
	}
	if err != nil {
		slog.Default().Warn("running services could not be notified; they apply the change when the table is due", "of", of, "error", err)
	}
}

// changedSettings returns the tables and namespaces of new records. Those that are there at the first look are older than the first run.
func (s *Service) changedSettings(ctx context.Context) (changed []string, err error) {
	client, folder := s.cat.Client(), s.cat.Vault()+settingsFolder
	seen := map[string]bool{}
	for info, err := range client.List(ctx, folder) {
		if err != nil {
			return changed, err
		}
		if seen[info.URL] = true; s.changes == nil || s.changes[info.URL] {
			if blobio.KnownTime(info.ModTime) && s.o.Now().Sub(info.ModTime) > settingsKept {
				if err := client.Delete(ctx, info.URL, info.ETag); err != nil && !errors.Is(err, blobio.ErrNotFound) {
					return changed, err
				}
			}
			continue
		}
		text, _, err := client.ReadAll(ctx, info.URL, maxSettingsRecord)
		if errors.Is(err, blobio.ErrNotFound) {
			continue
		}
		if err != nil {
			return changed, err
		}
		var change settingsChange
		if json.Unmarshal(text, &change) == nil && change.Of != "" {
			changed = append(changed, change.Of)
		}
	}
	s.changes = seen
	return changed, nil
}

// dueAfter makes tables due whose settings have changed. The caller holds the lock.
func (s *Service) dueAfter(changed []string) {
	if len(changed) == 0 {
		return
	}
	clear(s.namespaces)
	for name, t := range s.tables {
		if t.status.State == Halted || t.held || !slices.ContainsFunc(changed, func(of string) bool {
			namespace, all := strings.CutSuffix(of, ".*")
			return of == name.String() || all && strings.HasPrefix(name.Namespace+".", namespace+".")
		}) {
			continue
		}
		t.status.NextRun, t.rest, t.again = s.o.Now(), nil, t.status.State == Running
	}
	s.line = nil
}
