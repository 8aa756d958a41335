package catalog

import "context"

// AllTables lists the tables of all namespaces.
func (c *Catalog) AllTables(ctx context.Context) ([]Name, error) {
	namespaces, err := c.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var all []Name
	for _, ns := range namespaces {
		names, err := c.Tables(ctx, ns)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}
