package labjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/labplatform/labplatform/pkg/labjson"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

func TestDecodingAcceptsTheDocumentedForms(t *testing.T) {
	t.Parallel()
	kind := every(t)
	for in, want := range map[string]string{
		`{"i":"12"}`:                `{"i":12}`,
		`{"i":2.0,"l":1e2}`:         `{"i":2,"l":100}`,
		`{"l":9007199254740992}`:    `{"l":9007199254740992}`,
		`{"ul":"9007199254740992"}`: `{"ul":9007199254740992}`,
		`{"i":null,"oi":null}`:      `{}`,
		`{"b":"True"}`:              `{"b":true}`,
		`{"b":0,"ob":"0"}`:          `{"ob":false}`,
		`{"rb":[1,"1",true,"true","True",0,"0",false,"false","False"]}`: `{"rb":[true,true,true,true,true,false,false,false,false,false]}`,
		`{"flag":true}`:                 `{"flag":1}`,
		`{"flag":"True"}`:               `{"flag":1}`,
		`{"flag":"0"}`:                  `{}`,
		`{"e":1}`:                       `{"e":1}`,
		`{"e":"RED"}`:                   `{"e":1}`,
		`{"d":"1.5","f":-0.25}`:         `{"f":-0.25,"d":1.5}`,
		`{"y":"AQID"}`:                  `{"y":"AQID"}`,
		`{"y":"-_8"}`:                   `{"y":"+/8="}`,
		`{"s":"a\u00e9\ud83d\ude00\n"}`: `{"s":"aé😀\n"}`,
		`{"ca":"x"}`:                    `{"ca":"x"}`,
		`{"ca":null,"cb":0}`:            `{"cb":0}`,
		`{"oi":0}`:                      `{"oi":0}`,
		`{"m":{"m":{}}}`:                `{"m":{"m":{}}}`,
		`{"m":null}`:                    `{}`,
		`{"ms":{"b":"2","a":"1"}}`:      `{"ms":{"a":"1","b":"2"}}`,
		`{"mi":{"3":4,"-1":"5"}}`:       `{"mi":{"-1":5,"3":4}}`,
		`{"wi":"7","wb":false}`:         `{"wi":7,"wb":false}`,
		`{"raw": {"b": 1,"a" :[ ]} }`:   `{"raw":{"b": 1,"a" :[ ]}}`,
		`{"raw":null}`:                  `{}`,
		`{"rraw":[1.50,null,"x"]}`:      `{"rraw":[1.50,null,"x"]}`,
		`{"st":{"b":1,"a":[null]}}`:     `{"st":{"a":[null],"b":1}}`,
		`{"va":null}`:                   `{"va":null}`,
		`{"ts":"2026-01-02T03:04:05Z","du":"1.5s"}`: `{"ts":"2026-01-02T03:04:05Z","du":"1.500s"}`,
		"\t{ \"unknown\" : [ { \"x\" : 1 } ] }\r\n": `{}`,
	} {
		m := kind.New().Interface()
		if err := labjson.Unmarshal([]byte(in), m); err != nil {
			t.Errorf("Unmarshal(%s): %v", in, err)
			continue
		}
		got, err := labjson.Marshal(m)
		if err != nil {
			t.Errorf("%s: Marshal: %v", in, err)
			continue
		}
		if diff := cmp.Diff(parse(t, []byte(want)), meaningful(parse(t, got), parse(t, []byte(want)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestDecodingErrorsNameThePath(t *testing.T) {
	t.Parallel()
	kind := every(t)
	deep := strings.Repeat(`{"m":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for in, want := range map[string]string{
		`{"i":"x"}`:                      "i must be an integer",
		`{"i":1.5}`:                      "i must be an integer",
		`{"i":""}`:                       "i must be an integer",
		`{"i":" 1"}`:                     "i must be an integer",
		`{"i":[]}`:                       "i must be an integer",
		`{"i":3e9}`:                      "i must be an integer from -2147483648 to 2147483647",
		`{"u":-1}`:                       "u must be an integer from 0 to 4294967295",
		`{"l":9007199254740993}`:         "l must be an integer from -9007199254740992 to 9007199254740992",
		`{"l":1e999999999999}`:           "l must be an integer from -9007199254740992 to 9007199254740992",
		`{"ul":9007199254740993}`:        "ul must be an integer from 0 to 9007199254740992",
		`{"d":"NaN"}`:                    "d must be a number",
		`{"d":1e999}`:                    "d is a number that is too large",
		`{"f":1e39}`:                     "f is a number that is too large",
		`{"s":1}`:                        "s must be a text",
		`{"b":2}`:                        "b must be true or false",
		`{"b":"yes"}`:                    "b must be true or false",
		`{"flag":2}`:                     "flag must be true or false",
		`{"e":"BLUE"}`:                   "e is none of the documented values",
		`{"y":"?"}`:                      "y must be base64 text",
		`{"ts":"yesterday"}`:             "ts must be a time like 2026-01-31T10:00:00Z",
		`{"rm":[{},{"rm":[{"i":"x"}]}]}`: "rm[1].rm[0].i must be an integer",
		`{"ms":{"k":1}}`:                 `ms["k"] must be a text`,
		`{"ri":[1,null]}`:                "ri[1] must be an integer",
		`{"rm":[null]}`:                  "rm[0] must be an object",
		`{"ri":{}}`:                      "ri must be a list",
		`{"m":[]}`:                       "m must be an object",
		`{"ca":"x","cb":1}`:              "cb excludes another field that was sent as well",
		`[]`:                             "the body must be an object",
		`null`:                           "the body must be an object",
		``:                               "the body is empty; send a JSON value (at byte 0)",
		`{"i":1,"i":1}`:                  `the body has the name "i" twice in one object (at byte 11)`,
		`{"x":1,"x":1}`:                  `the body has the name "x" twice in one object (at byte 11)`,
		`{"x":1,"\u0078":1}`:             `the body has the name "x" twice in one object (at byte 16)`,
		`{"raw":{"a":1,"a":2}}`:          `the body has the name "a" twice in one object (at byte 18)`,
		`{"ms":{"a":"1","a":"2"}}`:       `the body has the name "a" twice in one object (at byte 19)`,
		`{} {}`:                          "the body has something behind its JSON value (at byte 3)",
		`{"i":1,}`:                       "the body is not valid JSON (at byte 7)",
		`{"i":01}`:                       "the body is not valid JSON (at byte 6)",
		`{"i":+1}`:                       "the body is not valid JSON (at byte 5)",
		`{"s":"\ud800"}`:                 "the body has half a character in a text (at byte 12)",
		"{\"s\":\"\n\"}":                 "the body is not valid JSON (at byte 6)",
		`{"s":"a`:                        "the body is JSON that ends too early (at byte 7)",
		"{\"s\":\"\xff\"}":               "the body is not UTF-8 text (at byte 6)",
		deep:                             "the body is nested too deeply (at byte 500)",
	} {
		err := labjson.Unmarshal([]byte(in), kind.New().Interface())
		if err == nil {
			t.Errorf("Unmarshal(%s) succeeded, want an error", in)
			continue
		}
		if err.Error() != want {
			t.Errorf("Unmarshal(%s): error = %q, want %q", in, err, want)
		}
	}
}

func TestShortMessageNamesTheFieldOnly(t *testing.T) {
	t.Parallel()
	err := labjson.Unmarshal([]byte(`{"tasks":[{"retry":"many"}]}`), &taskqueuev1.EnqueueRequest{})
	var wrong *labjson.TypeError
	if !errors.As(err, &wrong) {
		t.Fatalf("error = %v, want a TypeError", err)
	}
	if wrong.Path != "tasks[0].retry" || wrong.Message() != "retry must be an integer" {
		t.Fatalf("path = %q, message = %q, want tasks[0].retry and the field's name only", wrong.Path, wrong.Message())
	}
}

func TestAHundredLevelsAreAccepted(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("[", 98) + strings.Repeat("]", 98)
	m := &taskqueuev1.Task{}
	if err := labjson.Unmarshal([]byte(`{"data":{"a":`+in+`}}`), m); err != nil {
		t.Fatal(err)
	}
	if got := string(m.GetData().GetJson()); got != `{"a":`+in+`}` {
		t.Fatalf("data = %s, want it unchanged", got)
	}
}

func TestUnknownNamesAreReportedAndRefusedByStrictMessages(t *testing.T) {
	t.Parallel()
	body := []byte(`{"type":"Manual","colour":1,"is_active":"true","size":{"type":2}}`)
	m := &rerunv1.RequestRerunRequest{}
	unknown, err := labjson.UnmarshalReport(body, m)
	if err != nil || !cmp.Equal(unknown, []string{"colour", "size"}) {
		t.Fatalf("unknown = %v, error %v, want colour and size", unknown, err)
	}
	want := &rerunv1.RequestRerunRequest{Type: proto.String("Manual"), IsActive: proto.Bool(true)}
	if diff := cmp.Diff(want, m, protocmp.Transform()); diff != "" {
		t.Fatalf("message (-want +got):\n%s", diff)
	}
	err = labjson.Unmarshal(body, m)
	var refused *labjson.UnknownFieldsError
	if !errors.As(err, &refused) || err.Error() != "Invalid fields: colour, size" {
		t.Fatalf("Unmarshal of a strict message: error = %v, want both names", err)
	}
	if err := labjson.Unmarshal([]byte(`{"unknown":1}`), &rerunv1.ConfirmRerunRequest{}); err != nil {
		t.Fatalf("Unmarshal of a message without the option: %v, want unknown names ignored", err)
	}
}

func TestDecodingReplacesTheMessage(t *testing.T) {
	t.Parallel()
	m := &taskqueuev1.Task{Task: 4, Data: &typev1.RawJSON{Json: []byte("1")}}
	if err := labjson.Unmarshal([]byte(`{"task_type":2}`), m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&taskqueuev1.Task{TaskType: 2}, m, protocmp.Transform()); diff != "" {
		t.Fatalf("message (-want +got):\n%s", diff)
	}
}
