package arrowtype

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
)

// Parquet has logical types for which Arrow has no type. The metadata of a field names them, so that they survive every format that keeps
// Arrow's metadata, and a Parquet file gets them again. The names are those of the format, with its parameters in parentheses:
//
//	JSON  BSON  ENUM  INTERVAL
//	TIME UTC                            the unit is that of the Arrow type
//	GEOMETRY(crs)                       GEOMETRY alone: the default
//	GEOGRAPHY(algorithm, crs)
const (
	logicalJSON      = "JSON"
	logicalBSON      = "BSON"
	logicalEnum      = "ENUM"
	logicalInterval  = "INTERVAL"
	logicalTimeUTC   = "TIME UTC"
	logicalGeometry  = "GEOMETRY"
	logicalGeography = "GEOGRAPHY"
)

// MarkLogical adds to the metadata of a field the logical type that its column has in a Parquet file, if Arrow has no type for it.
func MarkLogical(m arrow.Metadata, t pqschema.LogicalType) arrow.Metadata {
	name := logicalName(t)
	if name == "" {
		return m
	}
	var keys, values []string
	for i, key := range m.Keys() {
		if key != metaLogical {
			keys, values = append(keys, key), append(values, m.Values()[i])
		}
	}
	return arrow.NewMetadata(append(keys, metaLogical), append(values, name))
}

// logicalName is the name of a logical type for which Arrow has no type, or empty.
func logicalName(t pqschema.LogicalType) string {
	switch t := t.(type) {
	case pqschema.JSONLogicalType:
		return logicalJSON
	case pqschema.BSONLogicalType:
		return logicalBSON
	case pqschema.EnumLogicalType:
		return logicalEnum
	case pqschema.IntervalLogicalType:
		return logicalInterval
	case pqschema.TimeLogicalType:
		if t.IsAdjustedToUTC() {
			return logicalTimeUTC
		}
	case pqschema.GeometryLogicalType:
		return withParameters(logicalGeometry, t.Crs)
	case pqschema.GeographyLogicalType:
		return withParameters(logicalGeography, string(t.Algorithm), t.Crs)
	}
	return ""
}

// withParameters adds parameters to a name, unless all are empty.
func withParameters(name string, parameters ...string) string {
	if strings.Join(parameters, "") == "" {
		return name
	}
	return name + "(" + strings.Join(parameters, ", ") + ")"
}

// LogicalType is the logical type that a field's metadata names for its column in a Parquet file, where that column has the type has
// without it. It is nil if the metadata names none, or one that such a column can't have.
func LogicalType(m arrow.Metadata, has pqschema.LogicalType) pqschema.LogicalType {
	text, _ := m.GetValue(metaLogical)
	name, parameters, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	switch name {
	case logicalJSON:
		return pqschema.JSONLogicalType{}
	case logicalBSON:
		return pqschema.BSONLogicalType{}
	case logicalEnum:
		return pqschema.EnumLogicalType{}
	case logicalInterval:
		return pqschema.IntervalLogicalType{}
	case logicalTimeUTC:
		if t, ok := has.(pqschema.TimeLogicalType); ok {
			return pqschema.NewTimeLogicalType(true, t.TimeUnit())
		}
	case logicalGeometry:
		return pqschema.GeometryLogicalType{Crs: parameters}
	case logicalGeography:
		algorithm, crs, _ := strings.Cut(parameters, ", ")
		return pqschema.GeographyLogicalType{Crs: crs, Algorithm: pqschema.GeographyEdgeInterpolationAlgorithm(algorithm)}
	}
	return nil
}
