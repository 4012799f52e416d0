{{/* Made by `make generate`; change the code instead. */}}
{{- define "gw.typesVersion" -}}1.5.0{{- end -}}
