kubectl get streamingpipelines --all-namespaces --output=go-template='{{range .items}}{{$m := .metadata}}{{range $i, $f := $m.finalizers}}{{if eq $f "mainstem.dev/drain"}}{{$m.namespace}} {{$m.name}} {{$i}}{{"\n"}}{{end}}{{end}}{{end}}' |
while read -r namespace name i; do
  kubectl patch streamingpipeline "$name" --namespace="$namespace" --type=json --patch="[
    {\"op\": \"test\", \"path\": \"/metadata/finalizers/$i\", \"value\": \"mainstem.dev/drain\"},
    {\"op\": \"remove\", \"path\": \"/metadata/finalizers/$i\"}]"
done
