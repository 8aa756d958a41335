package console

import (
	"net/http"
	"strings"

	"github.com/shardcat/shardcat/compaction"
)

// tablesData is what the first page shows.
type tablesData struct {
	pager
	Tables []compaction.TableStatus
	// Find are letters of the names that are shown, Troubled counts tables that fail or are halted, All are all.
	Find          string
	Troubled, All int
	Only          bool
}

// tablesPerPage bounds a page, whatever the catalog.
const tablesPerPage = 200

func (h *Console) tables(w http.ResponseWriter, r *http.Request) {
	d := tablesData{Find: strings.TrimSpace(r.FormValue("find")), Only: r.FormValue("only") == "problems"}
	var found []compaction.TableStatus
	for _, st := range h.service.Status() {
		d.All++
		if st.Problem != "" {
			d.Troubled++
		}
		if strings.Contains(st.Table.String(), d.Find) && (!d.Only || st.Problem != "") {
			found = append(found, st)
		}
	}
	var from, to int
	d.pager, from, to = pageOf(r, len(found), tablesPerPage)
	d.Tables = found[from:to]
	h.render(w, http.StatusOK, "tables.html", page{Title: "Tables", ReadOnly: !h.allowed(r), Refresh: true, Data: d})
}
