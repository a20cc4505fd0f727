{{- define "mainstem.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the objects; short enough for every suffix that templates append. */}}
{{- define "mainstem.fullname" -}}
{{- $name := include "mainstem.name" . -}}
{{- $both := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $both .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "mainstem.serviceAccount" -}}
{{- default (ternary (include "mainstem.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Labels by which the Deployment selects its pods. They never change within a release. */}}
{{- define "mainstem.selector" -}}
app.kubernetes.io/name: {{ include "mainstem.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "mainstem.labels" -}}
{{- with .Values.commonLabels -}}
{{ toYaml . }}
{{ end -}}
{{ include "mainstem.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* (dict "image" ... "version" ...) -> repository:tag or repository@digest */}}
{{- define "mainstem.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ default .version .image.tag }}
{{- end -}}
{{- end -}}

{{/* [{name: a}, {name: b}] -> a,b */}}
{{- define "mainstem.names" -}}
{{- $names := list -}}
{{- range . }}{{ $names = append $names .name }}{{ end -}}
{{- join "," $names -}}
{{- end -}}

{{/* Name of the operator's Lease: one name for all namespaces, and one for each set of namespaces. Equals lease_name of lease.py. */}}
{{- define "mainstem.lease" -}}
{{- if .Values.watchNamespaces -}}
mainstem-operator-{{ join "," (.Values.watchNamespaces | uniq | sortAlpha) | sha256sum | trunc 10 }}
{{- else -}}
mainstem-operator
{{- end -}}
{{- end -}}

{{/* Name of the admission webhook's Service, Secret and webhook configuration. */}}
{{- define "mainstem.webhook" -}}
{{ include "mainstem.fullname" . }}-webhook
{{- end -}}

{{/* Security context of every container. With the pod's security context it meets the level `restricted`. */}}
{{- define "mainstem.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "mainstem.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* NetworkPolicyPeer of the namespaces that may read metrics; empty: all namespaces. */}}
{{- define "mainstem.metricsFrom" -}}
{{- with .Values.networkPolicy.metricsFrom -}}
from:
  - namespaceSelector:
      matchLabels:
        {{- toYaml . | nindent 8 }}
{{- end }}
{{- end -}}
