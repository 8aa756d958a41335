package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/storecheck"
	"github.com/shardcat/shardcat/internal/plural"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that the object store and the catalog meet the requirements",
		Example: `  shardcat doctor
  shardcat doctor --warehouse "s3://bucket/tables?region=eu-west-1"
  shardcat doctor --catalog rest+https://HOST/catalog --warehouse NAME`,
		Long: "Check that the store of --warehouse (and --vault) supports read, write, list and delete, exact ranges and conditional creation, that its clock agrees with " +
			"this one, and that the catalog of --catalog is reachable and its tables load. Each line has a result and, for a problem, the remedy. No table has to exist. " +
			"A single flag checks a store or a catalog alone. Test objects are written below _doctor/ and deleted.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			examine := func(what, url string) *storecheck.Report {
				return storecheck.Examine(cmd.Context(), a.client, url, storecheck.Options{Accept: func(at string) error { return catalog.CheckLocation(what, at) }})
			}
			reports := []*storecheck.Report{}
			alone := a.catalogURI != "" && a.warehouse == "" && a.vault == ""
			if !alone && !a.catalogOptions(catalog.ReadOnly).KnowsWarehouse() {
				reports = append(reports, examine("warehouse", first(a.warehouse, catalog.DefaultWarehouse)))
			}
			if a.vault != "" {
				reports = append(reports, examine("vault", a.vault))
			}
			if a.catalogURI != "" || a.warehouse == "" { // the default catalog is that of the default warehouse
				reports = append(reports, a.examineCatalog(cmd.Context()))
			}
			if a.json {
				if err := a.printJSON(reports); err != nil {
					return err
				}
			}
			worst := exitDone
			for _, r := range reports {
				if !a.json {
					for _, f := range r.Findings {
						a.printf("%s\n", f)
					}
				}
				worst = max(worst, doctorCode(r, a.unsafeWrites))
			}
			if worst != exitDone {
				return silently(worst)
			}
			return nil
		},
	}
	return cmd
}

// tablesExamined bounds how many tables of a catalog the doctor loads.
const tablesExamined = 20

// examineCatalog opens the catalog that was named, lists it and loads its first tables. A catalog that the first table makes need not be
// there.
func (a *app) examineCatalog(ctx context.Context) *storecheck.Report {
	r := &storecheck.Report{Location: catalog.RedactURI(first(a.catalogURI, catalog.DefaultURI)), Healthy: true, SafeWrites: true}
	find := func(check string, status storecheck.Status, do, format string, args ...any) {
		r.Findings = append(r.Findings, storecheck.Finding{Check: check, Status: status, What: fmt.Sprintf(format, args...), Do: do})
		r.Healthy = r.Healthy && status != storecheck.Failed
	}
	o := a.catalogOptions(catalog.ReadOnly)
	if o.KnowsWarehouse() && o.Vault == "" {
		find("vault", storecheck.Warning, "set the URL for shards with --vault", "the warehouse %q is a name of the catalog", o.Warehouse)
		o.Vault = catalog.DefaultWarehouse // nothing is read or written there
	}
	tables, err := catalog.Open(ctx, o)
	switch {
	case errors.Is(err, catalog.ErrNotFound) && !strings.HasPrefix(o.URI, "rest+"):
		find("catalog", storecheck.OK, "", "%s does not exist yet: the first table creates it", r.Location)
		return r
	case err != nil:
		find("catalog", storecheck.Failed, catalogAdvice(err), "%s", oneLine(err))
		return r
	}
	a.tables = tables
	find("catalog", storecheck.OK, "", "%s responds", r.Location)
	namespaces, err := tables.Namespaces(ctx)
	if err != nil {
		find("namespaces", storecheck.Failed, catalogAdvice(err), "%s", oneLine(err))
		return r
	}
	find("namespaces", storecheck.OK, "", "%d namespaces", len(namespaces))
	names, err := tables.Tables(ctx, "")
	if err != nil {
		find("tables", storecheck.Failed, catalogAdvice(err), "%s", oneLine(err))
		return r
	}
	var failed error
	bad, looked := 0, names[:min(len(names), tablesExamined)]
	for _, name := range looked {
		if _, err := tables.Load(ctx, name); err != nil {
			bad, failed = bad+1, errors.Join(failed, err)
		}
	}
	switch {
	case len(names) == 0:
		find("tables", storecheck.OK, "", "no table yet")
	case bad > 0:
		find("tables", storecheck.Warning, "nothing, if they are tables of other engines; else see the error of shardcat table describe T",
			"%d of %s can't be loaded: %s", bad, plural.Count(len(looked), "table"), oneLine(failed))
	default:
		find("tables", storecheck.OK, "", "%s, %d loaded", plural.Count(len(names), "table"), len(looked))
	}
	return r
}

// catalogAdvice is what to do about a catalog that does not answer as it should.
func catalogAdvice(err error) string {
	if errors.Is(err, catalog.ErrUnreachable) {
		return "check address, network, DNS and certificates (docs/guides/catalogs.md)"
	}
	return "check the URI's path and settings, --warehouse, and the credentials of SHARDCAT_REST_TOKEN or SHARDCAT_REST_CREDENTIAL (docs/guides/catalogs.md)"
}

// doctorCode is the exit code for a report: a store without conditional writes is unsafe, any other failure a failure.
func doctorCode(r *storecheck.Report, tolerate bool) int {
	code := exitDone
	for _, f := range r.Findings {
		switch {
		case f.Status != storecheck.Failed:
		case !f.Unsafe:
			code = max(code, exitFailed)
		case !tolerate:
			code = exitUnsafe
		}
	}
	return code
}
