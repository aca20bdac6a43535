package rules

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// errNotRecorded: a rule read a fact that was not recorded. has() tests for it.
var errNotRecorded = errors.New("fact not recorded")

// A structType is a type that CEL sees: Go structs of facts, a pack's params, a pack's variables.
type structType struct {
	name   string
	fields []*field
	byName map[string]*field
}

// A field reads one member of an object. value gives errNotRecorded for an optional member that is not there.
type field struct {
	index int
	name  string
	typ   *types.Type
	value func(o *object) (ref.Val, error)

	optional bool // it may be not recorded
}

func newStructType(name string) *structType {
	return &structType{name: name, byName: make(map[string]*field)}
}

func (t *structType) add(name string, typ *types.Type, value func(o *object) (ref.Val, error)) {
	f := &field{index: len(t.fields), name: name, typ: typ, value: value}
	t.fields = append(t.fields, f)
	t.byName[name] = f
}

func (t *structType) celType() *types.Type { return types.NewObjectType(t.name) }

// An object is a value of a structType. Members are converted when they are first read.
type object struct {
	typ    *structType
	native reflect.Value // of fact structs
	frame  *frame        // of variables
	vals   []ref.Val
}

var _ ref.Val = (*object)(nil)

func (t *structType) new() *object { return &object{typ: t, vals: make([]ref.Val, len(t.fields))} }

func (o *object) field(f *field) (ref.Val, error) {
	if v := o.vals[f.index]; v != nil {
		return v, nil
	}
	v, err := f.value(o)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", strings.TrimPrefix(o.typ.name, "dk."), f.name, err)
	}
	o.vals[f.index] = v
	return v, nil
}

// ConvertToNative implements ref.Val; facts have no other native form.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(o).AssignableTo(t) {
		return o, nil
	}
	return nil, fmt.Errorf("%s has no form as %v", o.typ.name, t)
}

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t.TypeName() == types.TypeType.TypeName() {
		return o.typ.celType()
	}
	return types.NewErr("%s is no %s", o.typ.name, t.TypeName())
}

// Equal implements ref.Val: facts are equal only to themselves.
func (o *object) Equal(other ref.Val) ref.Val { return types.Bool(o == other) }

// Type implements ref.Val.
func (o *object) Type() ref.Type { return o.typ.celType() }

// Value implements ref.Val.
func (o *object) Value() any { return o }

// factTypes are the struct types of [Facts], by name.
var factTypes = sync.OnceValue(func() map[string]*structType {
	c := typeCollector{types: make(map[string]*structType)}
	c.collect(reflect.TypeFor[Facts]())
	return c.types
})

type typeCollector struct{ types map[string]*structType }

// typeName is the name rules and error messages see.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[shell.Analysis]():
		return "dk.Command"
	case reflect.TypeFor[ClaimFacts]():
		return "dk.Claim"
	default:
		return "dk." + t.Name()
	}
}

// unseen are members that rules do not read: references, raw JSON and the plan.
var unseen = map[reflect.Type]bool{
	reflect.TypeFor[events.Ref]():  true,
	reflect.TypeFor[*shell.Plan](): true,
}

func (c typeCollector) collect(t reflect.Type) *structType {
	name := typeName(t)
	if st, ok := c.types[name]; ok {
		return st
	}
	st := newStructType(name)
	c.types[name] = st
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "" || tag == "-" || unseen[f.Type] {
			continue
		}
		typ, conv := c.member(f.Type)
		st.add(tag, typ, func(o *object) (ref.Val, error) { return conv(o.native.Field(i)) })
		st.byName[tag].optional = f.Type.Kind() == reflect.Pointer
	}
	return st
}

type converter func(v reflect.Value) (ref.Val, error)

// member gives the CEL type of a Go type and how a value of it is converted.
func (c typeCollector) member(t reflect.Type) (*types.Type, converter) {
	if t == reflect.TypeFor[time.Time]() {
		return types.TimestampType, func(v reflect.Value) (ref.Val, error) {
			return types.Timestamp{Time: v.Interface().(time.Time)}, nil
		}
	}
	switch t.Kind() {
	case reflect.String:
		return types.StringType, func(v reflect.Value) (ref.Val, error) { return types.String(v.String()), nil }
	case reflect.Bool:
		return types.BoolType, func(v reflect.Value) (ref.Val, error) { return types.Bool(v.Bool()), nil }
	case reflect.Int, reflect.Int64:
		return types.IntType, func(v reflect.Value) (ref.Val, error) { return types.Int(v.Int()), nil }
	case reflect.Struct:
		st := c.collect(t)
		return st.celType(), func(v reflect.Value) (ref.Val, error) {
			o := st.new()
			o.native = v
			return o, nil
		}
	case reflect.Pointer:
		typ, conv := c.member(t.Elem())
		return typ, func(v reflect.Value) (ref.Val, error) {
			if v.IsNil() {
				return nil, errNotRecorded
			}
			return conv(v.Elem())
		}
	case reflect.Slice:
		typ, conv := c.member(t.Elem())
		return types.NewListType(typ), func(v reflect.Value) (ref.Val, error) { return convertList(v, conv) }
	default:
		panic("internal error: no fact can be of type " + t.String())
	}
}

func convertList(v reflect.Value, conv converter) (ref.Val, error) {
	vals := make([]ref.Val, v.Len())
	for i := range vals {
		var err error
		if vals[i], err = conv(v.Index(i)); err != nil {
			return nil, err
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, vals), nil
}

// A provider tells CEL the fact types, and the params and variables of one pack.
type provider struct {
	types.Provider // the built-in types
	own            map[string]*structType
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t := p.lookup(name); t != nil {
		return types.NewTypeTypeWithParam(t.celType()), true
	}
	return nil, false
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	t := p.lookup(name)
	if t == nil {
		return nil, false
	}
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	t := p.lookup(name)
	if t == nil {
		return nil, false
	}
	f, ok := t.byName[fieldName]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: f.typ,
		IsSet: func(target any) bool {
			_, err := target.(*object).field(f)
			return !errors.Is(err, errNotRecorded)
		},
		GetFrom: func(target any) (any, error) { return target.(*object).field(f) },
	}, true
}

// NewValue implements types.Provider: rules read facts and make none.
func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("a rule cannot make a %s", name)
}

func (p *provider) lookup(name string) *structType {
	if t, ok := p.own[name]; ok {
		return t
	}
	return factTypes()[name]
}
