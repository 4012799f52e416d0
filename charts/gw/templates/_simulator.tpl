{{/* Names the pods of the simulated model server. They differ from the operator's, so that no selector confuses the two. */}}
{{- define "gw.simulatorSelector" -}}
app.kubernetes.io/name: {{ include "gw.name" .root }}-simulator
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* A model server without a model: for trials, and for the test. Takes {root, name, deployment, annotations}. */}}
{{- define "gw.simulator" -}}
{{- $root := .root }}
{{- $namespace := .namespace }}
apiVersion: apps/v1
kind: Deployment
metadata:
  # The selector of a Deployment cannot be changed, so a new selector comes with a new name.
  name: {{ default .name .deployment }}
  namespace: {{ $namespace }}
  labels:
    {{- include "gw.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: 1
  selector:
    matchLabels:
      {{- include "gw.simulatorSelector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "gw.simulatorSelector" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 10
      securityContext:
        {{- include "gw.podSecurity" $root | nindent 8 }}
      {{- with include "gw.pullSecrets" $root }}
      imagePullSecrets: {{ . }}
      {{- end }}
      containers:
        - name: simulator
          image: {{ include "gw.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [simulate, --host, 0.0.0.0, --port, "9000", --tokens-per-second, "50"]
          ports:
            - {name: http, containerPort: 9000, protocol: TCP}
          readinessProbe:
            httpGet: {path: /health, port: http}
            periodSeconds: 2
            timeoutSeconds: 5
          livenessProbe:
            tcpSocket: {port: http}
            periodSeconds: 20
          resources:
            requests: {cpu: 50m, memory: 64Mi}
            limits: {memory: 256Mi}
          securityContext:
            {{- include "gw.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 64Mi}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels:
    {{- include "gw.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    {{- include "gw.simulatorSelector" . | nindent 4 }}
  ports:
    - {name: http, port: 9000, targetPort: http, protocol: TCP}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels:
    {{- include "gw.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "gw.simulatorSelector" . | nindent 6 }}
  # Without egress rules, no traffic may leave; the API server drops an empty list.
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - {port: 9000, protocol: TCP}
{{- end -}}
