package document
import ("testing";"bytes")
func BenchmarkNames(b *testing.B){
 for _, unit := range []string{"/ObjStm ", "/ObjStmsstrea", "/Length 12 "} {
 b.Run(unit, func(b *testing.B){
 chunk:=bytes.Repeat([]byte(unit), (256<<10)/len(unit))
 b.SetBytes(int64(len(chunk)))
 s:=&PDFScanner{}
 for b.Loop() { if _,err:=s.Write(chunk);err!=nil{b.Fatal(err)} }
 })}
}
