package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardcat/shardcat/shardfmt"
)

// propertyFlags are the properties of a shard, its stripes and its fields.
type propertyFlags struct {
	shard, stripe, field                         []string
	standard, standardForStripe, standardOfField []string
}

func (f *propertyFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.shard, "property", nil, "property of the shard: NAME=VALUE (repeatable; default: none)")
	flags.StringArrayVar(&f.standard, "standard-property", nil, "standard property of the shard, a drop-by tag for instance: NAME=VALUE (repeatable; default: none); compaction skips such shards unless the policy sets tagged")
	flags.StringArrayVar(&f.stripe, "stripe-property", nil, "property of every stripe: NAME=VALUE (repeatable; default: none)")
	flags.StringArrayVar(&f.standardForStripe, "standard-stripe-property", nil, "standard property of every stripe: NAME=VALUE (repeatable; default: none)")
	flags.StringArrayVar(&f.field, "field-property", nil, "property of a field in every stripe: COL:NAME=VALUE (repeatable; default: none)")
	flags.StringArrayVar(&f.standardOfField, "standard-field-property", nil, "standard property of a field in every stripe: COL:NAME=VALUE (repeatable; default: none)")
}

// set turns the flags into options of a shard writer.
func (f *propertyFlags) set(o *shardfmt.WriterOptions) error {
	for _, bag := range []struct {
		flags []string
		to    *[]shardfmt.Property
	}{
		{f.shard, &o.Properties}, {f.standard, &o.StandardProperties},
		{f.stripe, &o.StripeProperties.Custom},
		{f.standardForStripe, &o.StripeProperties.Standard},
	} {
		for _, flag := range bag.flags {
			name, value, err := cutProperty(flag)
			if err != nil {
				return err
			}
			*bag.to = append(*bag.to, shardfmt.TextProperty(name, value))
		}
	}
	o.FieldProperties = map[string]shardfmt.Properties{}
	for _, flag := range f.field {
		path, pair, err := fieldProperty(flag)
		if err != nil {
			return err
		}
		bags := o.FieldProperties[path]
		bags.Custom = append(bags.Custom, pair)
		o.FieldProperties[path] = bags
	}
	for _, flag := range f.standardOfField {
		path, pair, err := fieldProperty(flag)
		if err != nil {
			return err
		}
		bags := o.FieldProperties[path]
		bags.Standard = append(bags.Standard, pair)
		o.FieldProperties[path] = bags
	}
	return nil
}

// cutProperty splits the NAME=VALUE of a --property flag.
func cutProperty(flag string) (name, value string, err error) {
	name, value, ok := strings.Cut(flag, "=")
	if !ok || name == "" {
		return "", "", usagef("property %s: expected NAME=VALUE", flag)
	}
	return name, value, nil
}

// fieldProperty reads COL:NAME=VALUE. A column with a colon in its name is in double quotes, or has a backslash before the colon.
func fieldProperty(flag string) (path string, pair shardfmt.Property, err error) {
	if strings.HasPrefix(flag, `"`) {
		column, rest, ok := cutColumn(flag, ':')
		if !ok || column == "" {
			return "", pair, usagef("field property %s: expected COL:NAME=VALUE", flag)
		}
		name, value, err := cutProperty(rest)
		return column, shardfmt.TextProperty(name, value), err
	}
	for i := 1; i < len(flag); i++ {
		if flag[i] == ':' && flag[i-1] != '\\' {
			name, value, err := cutProperty(flag[i+1:])
			return strings.ReplaceAll(flag[:i], `\:`, ":"), shardfmt.TextProperty(name, value), err
		}
	}
	return "", shardfmt.Property{}, usagef("field property %s: expected COL:NAME=VALUE", flag)
}
