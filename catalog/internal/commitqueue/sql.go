package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/sqldb"
)

// SQL is a queue as rows beside the tables of the catalog, which other clients don't look at:
//
//	shardcat_line   table_uuid, number (key), beats
type SQL struct {
	db    sqldb.DB
	mu    sync.Mutex
	ready bool
}

// NewSQL is a queue in a database.
func NewSQL(db sqldb.DB) *SQL { return &SQL{db: db} }

const (
	queueThere = "SELECT number FROM shardcat_line WHERE 1 = 0"
	queueMake  = "CREATE TABLE IF NOT EXISTS shardcat_line (table_uuid VARCHAR(36) NOT NULL, number BIGINT NOT NULL," +
		" beats BIGINT NOT NULL, PRIMARY KEY (table_uuid, number))"
	// Of a queue that is longer than any crowd, the first will do.
	queueWaiting = "SELECT number, beats FROM shardcat_line WHERE table_uuid = $1 ORDER BY number LIMIT 1000"
	queueTake    = "INSERT INTO shardcat_line (table_uuid, number, beats) SELECT CAST($1 AS VARCHAR), COALESCE(MAX(number), 0) + 1, 0" +
		" FROM shardcat_line WHERE table_uuid = $1 RETURNING number"
	queueBeat  = "UPDATE shardcat_line SET beats = beats + 1 WHERE table_uuid = $1 AND number = $2"
	queueLeave = "DELETE FROM shardcat_line WHERE table_uuid = $1 AND number = $2"
)

func (q *SQL) pace() pace {
	const first, last = 2 * time.Millisecond, 50 * time.Millisecond
	return pace{idle: true, beat: time.Second, pause: func(looks, _ int) time.Duration {
		return jitter(first, min(last, first<<min(looks, 8)))
	}}
}

// prepare makes the queue's table where it is missing.
func (q *SQL) prepare(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready {
		return nil
	}
	if _, err := q.db.ExecContext(ctx, queueThere); err != nil {
		_, made := q.db.ExecContext(ctx, queueMake)
		_, err = q.db.ExecContext(ctx, queueThere) // another writer may have made it at the same moment
		if err != nil {
			return errors.Join(made, err)
		}
	}
	q.ready = true
	return nil
}

func (q *SQL) waiting(ctx context.Context, table uuid.UUID) (out []ticket, err error) {
	if err := q.prepare(ctx); err != nil {
		return nil, err
	}
	rows, err := q.db.QueryContext(ctx, q.db.Spelled(queueWaiting), table.String())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t ticket
		if err := rows.Scan(&t.number, &t.beats); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func (q *SQL) take(ctx context.Context, table uuid.UUID) (number int64, err error) {
	if err := q.prepare(ctx); err != nil {
		return 0, err
	}
	for range takeTries {
		err = q.db.QueryRowContext(ctx, q.db.Spelled(queueTake), table.String()).Scan(&number)
		if err == nil || ctx.Err() != nil {
			return number, err
		}
	}
	return 0, fmt.Errorf("taking a ticket in the commit queue: %w", err)
}

func (q *SQL) beat(ctx context.Context, table uuid.UUID, number int64) (bool, error) {
	n, err := q.db.Change(ctx, queueBeat, table.String(), number)
	return n > 0, err
}

func (q *SQL) leave(ctx context.Context, table uuid.UUID, number, beats int64) error {
	query, args := queueLeave, []any{table.String(), number}
	if beats != anyBeats {
		query, args = queueLeave+" AND beats = $3", append(args, beats)
	}
	_, err := q.db.Change(ctx, query, args...)
	return err
}
