{{/* Names, labels, and the parts that several objects share. */}}

{{- define "gw.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "gw.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "gw.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* For objects without a namespace: two releases in two namespaces must not collide. */}}
{{- define "gw.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "gw.fullname" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "gw.selector" -}}
app.kubernetes.io/name: {{ include "gw.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gw.labels" -}}
{{ include "gw.selector" . }}
app.kubernetes.io/part-of: gw
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "gw.serviceAccount" -}}
{{- default (ternary (include "gw.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "gw.image" -}}
{{- $named := "" -}}
{{- with .Values.image -}}
{{- $named = ternary (printf "%s@%s" .repository .digest) (printf "%s:%s" .repository (default $.Chart.AppVersion .tag)) (ne .digest "") -}}
{{- end -}}
{{ include "gw.mirrored" (list . $named) }}
{{- end -}}

{{- define "gw.dataPlaneImage" -}}
{{- with .Values.dataPlane.image }}{{ include "gw.mirrored" (list $ .) }}{{ else }}{{ include "gw.image" . }}{{ end -}}
{{- end -}}

{{/* An image at the registry in global.imageRegistry, instead of the written one. */}}
{{- define "gw.mirrored" -}}
{{- $root := first . -}}
{{- $image := last . -}}
{{- $parts := splitList "/" $image -}}
{{- $host := first $parts -}}
{{- $isHost := and (gt (len $parts) 1) (or (contains "." $host) (contains ":" $host) (eq $host "localhost")) -}}
{{- with $root.Values.global.imageRegistry -}}
{{ printf "%s/%s" (trimSuffix "/" .) (join "/" (ternary (rest $parts) $parts $isHost)) }}
{{- else -}}
{{ $image }}
{{- end -}}
{{- end -}}

{{- define "gw.pullSecrets" -}}
{{- $all := list -}}
{{- range concat (.Values.global.imagePullSecrets | default list) .Values.imagePullSecrets -}}
{{- $all = append $all (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- with uniq $all }}{{ toJson . }}{{ end -}}
{{- end -}}

{{/* Not empty on OpenShift, which assigns each namespace a range of users and refuses pods with another one. */}}
{{- define "gw.assignsUsers" -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" }}yes{{ end -}}
{{- end -}}

{{/* Requirements of restricted Pod Security for a pod, and for a container. */}}
{{- define "gw.podSecurity" -}}
runAsNonRoot: true
{{- if not (include "gw.assignsUsers" .) }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gw.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- if not (include "gw.assignsUsers" .) }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "gw.testNamespace" -}}
{{- if and .Values.test.namespace .Values.watchNamespaces (not (has .Values.test.namespace .Values.watchNamespaces)) -}}
{{- fail "test.namespace: no operator looks after it; name one of watchNamespaces" -}}
{{- end -}}
{{- default (default .Release.Namespace (first (append .Values.watchNamespaces ""))) .Values.test.namespace -}}
{{- end -}}

{{/* Namespaces that get the Secret of the embedded Redis. */}}
{{- define "gw.redisNamespaces" -}}
{{- append (prepend .Values.redis.embedded.namespaces .Release.Namespace) (include "gw.testNamespace" .) | uniq | toJson -}}
{{- end -}}

{{- define "gw.redisUrl" -}}
redis://{{ include "gw.fullname" . }}-redis.{{ .Release.Namespace }}.svc:6379
{{- end -}}

{{/* Not empty if the operator makes the certificates of its webhook. */}}
{{- define "gw.makesCertificates" -}}
{{- if and .Values.webhook.enabled (eq .Values.webhook.certificates.from "operator") }}yes{{ end -}}
{{- end -}}

{{/* The Secret with the certificate of the webhook, unless the operator makes it. */}}
{{- define "gw.webhookSecret" -}}
{{- if eq .Values.webhook.certificates.from "secret" -}}
{{ required "webhook.certificates.secretName: name the Secret of type kubernetes.io/tls, or set webhook.certificates.from to operator" .Values.webhook.certificates.secretName }}
{{- else -}}
{{ include "gw.webhookService" . }}-certificate
{{- end -}}
{{- end -}}

{{/* How the API server reaches the webhook. */}}
{{- define "gw.webhookService" -}}
{{ include "gw.fullname" . }}-webhook
{{- end -}}

{{/* The port of the collector of OpenTelemetry. */}}
{{- define "gw.collectorPort" -}}
{{- $url := urlParse .Values.telemetry.otlpEndpoint -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- default (ternary 443 80 (eq $url.scheme "https")) $port -}}
{{- end -}}
