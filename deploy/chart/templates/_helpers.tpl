{{- define "shardcat.labels" -}}
app.kubernetes.io/name: shardcat
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "shardcat.selector" -}}
app.kubernetes.io/name: shardcat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shardcat.fullname" -}}
{{- if contains "shardcat" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-shardcat{{ end }}
{{- end }}

{{- /* The pod's settings that the Deployment and the CronJob share. */}}
{{- define "shardcat.pod" -}}
serviceAccountName: {{ .Values.serviceAccountName }}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken }}
terminationGracePeriodSeconds: 60
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: {{ .Values.tmpSize }}}
{{- if .Values.config }}
  - name: config
    configMap: {name: {{ include "shardcat.fullname" . }}}
{{- end }}
{{- end }}

{{- define "shardcat.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: {name: {{ .Values.secretName }}}
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
{{- if .Values.config }}
  - {name: config, mountPath: /etc/shardcat, readOnly: true}
{{- end }}
{{- end }}
