package gateway
import ("testing";"context";"os";"time";"github.com/labplatform/labplatform/scripts/bench/internal/load")
func TestScratchLoad(t *testing.T){ d,err:=load.Get(context.Background(), os.Getenv("U")+path, connections, 60000, right); if err!=nil {t.Fatal(err)}; t.Log(d, float64(d.Microseconds())/60000); _ = time.Now }
