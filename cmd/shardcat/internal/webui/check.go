package webui

import (
	"context"
	"net/http"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// checkTime bounds a verification that a page waits for, checkedShare is the share of the shards whose bytes it reads.
const (
	checkTime    = 90 * time.Second
	checkedShare = 5
)

// checkData is what a verification, or the dry run of a repair, found.
type checkData struct {
	Name     string
	Verified *catalog.VerifyResult
	Repaired *catalog.RepairResult
	Share    int
}

// verify checks all metadata and the bytes of some shards.
func (h *Console) verify(w http.ResponseWriter, r *http.Request, _ int64) {
	h.check(w, r, "Verification of ", func(ctx context.Context, t *catalog.Table, d *checkData) (err error) {
		d.Verified, err = t.Verify(ctx, catalog.VerifyOptions{Data: catalog.Subset{Percent: checkedShare}})
		return err
	})
}

// repairDryRun shows what a repair with --accept-loss would do about what that finds, and does nothing.
func (h *Console) repairDryRun(w http.ResponseWriter, r *http.Request, _ int64) {
	h.check(w, r, "Dry run of a repair of ", func(ctx context.Context, t *catalog.Table, d *checkData) (err error) {
		d.Repaired, err = t.Repair(ctx, catalog.RepairOptions{DryRun: true, AcceptLoss: true, Verify: catalog.VerifyOptions{Data: catalog.Subset{Percent: checkedShare}}})
		return err
	})
}

func (h *Console) check(w http.ResponseWriter, r *http.Request, title string, do func(context.Context, *catalog.Table, *checkData) error) {
	t, _, ok := h.load(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	d := checkData{Name: t.Name().String(), Share: checkedShare}
	if err := do(ctx, t, &d); err != nil {
		why := err.Error()
		if ctx.Err() != nil {
			why = "the table is too large to check in the web UI; run shardcat verify " + d.Name
		}
		h.fail(w, http.StatusConflict, why)
		return
	}
	h.render(w, http.StatusOK, "check.html", page{Title: title + d.Name, Data: d})
}
