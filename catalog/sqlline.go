package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// sqlLine is the line of writers as rows beside the tables of the catalog, which other clients don't look at:
//
//	shardcat_line   table_uuid, number (key), beats
type sqlLine struct {
	tables *sqlTables
	mu     sync.Mutex
	ready  bool
}

const (
	lineThere = "SELECT number FROM shardcat_line WHERE 1 = 0"
	lineMake  = "CREATE TABLE IF NOT EXISTS shardcat_line (table_uuid VARCHAR(36) NOT NULL, number BIGINT NOT NULL," +
		" beats BIGINT NOT NULL, PRIMARY KEY (table_uuid, number))"
	// Of a line that is longer than any crowd, the first will do.
	lineWaiting = "SELECT number, beats FROM shardcat_line WHERE table_uuid = $1 ORDER BY number LIMIT 1000"
	lineTake    = "INSERT INTO shardcat_line (table_uuid, number, beats) SELECT CAST($1 AS VARCHAR), COALESCE(MAX(number), 0) + 1, 0" +
		" FROM shardcat_line WHERE table_uuid = $1 RETURNING number"
	lineBeat  = "UPDATE shardcat_line SET beats = beats + 1 WHERE table_uuid = $1 AND number = $2"
	lineLeave = "DELETE FROM shardcat_line WHERE table_uuid = $1 AND number = $2"
	// takeTries bounds the tries to take a number that another writer takes at the same moment.
	takeTries = 10
)

func (l *sqlLine) costly() bool { return false }

// prepare makes the line's table where it is missing.
func (l *sqlLine) prepare(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready {
		return nil
	}
	if _, err := l.tables.db.ExecContext(ctx, lineThere); err != nil {
		_, made := l.tables.db.ExecContext(ctx, lineMake)
		_, err = l.tables.db.ExecContext(ctx, lineThere) // another writer may have made it at the same moment
		if err != nil {
			return errors.Join(made, err)
		}
	}
	l.ready = true
	return nil
}

func (l *sqlLine) waiting(ctx context.Context, table uuid.UUID) (out []placed, err error) {
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	rows, err := l.tables.db.QueryContext(ctx, l.tables.spelled(lineWaiting), table.String())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p placed
		if err := rows.Scan(&p.number, &p.beats); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

func (l *sqlLine) take(ctx context.Context, table uuid.UUID) (number int64, err error) {
	if err := l.prepare(ctx); err != nil {
		return 0, err
	}
	for range takeTries {
		err = l.tables.db.QueryRowContext(ctx, l.tables.spelled(lineTake), table.String()).Scan(&number)
		if err == nil || ctx.Err() != nil {
			return number, err
		}
	}
	return 0, fmt.Errorf("taking a ticket in the commit queue: %w", err)
}

func (l *sqlLine) beat(ctx context.Context, table uuid.UUID, number int64) (bool, error) {
	n, err := l.tables.exec(ctx, lineBeat, table.String(), number)
	return n > 0, err
}

func (l *sqlLine) leave(ctx context.Context, table uuid.UUID, number, beats int64) error {
	query, args := lineLeave, []any{table.String(), number}
	if beats != anyBeats {
		query, args = lineLeave+" AND beats = $3", append(args, beats)
	}
	_, err := l.tables.exec(ctx, query, args...)
	return err
}
