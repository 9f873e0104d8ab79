"""Files as people write them: the forms that an edit has to leave alone. Used by the edits' property test."""

KUBERNETES = """\
# Deployed by the platform team.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    # long texts stay folded
    description: >-
      Serves the shop,
      in all regions.
spec:
  replicas: 3   # see the capacity plan

  template:
    spec:
      containers:
        # the application
        - name: app
          image: "registry.example/app:1.2"
          args: ["--port", "8080", '--quiet']
          env:
            - name: MODE
              value: 'production'

            - {name: LEVEL, value: info}
          resources: {limits: {cpu: 500m, memory: 1Gi}}
        - name: sidecar
          image: registry.example/sidecar:7
---
# The second document
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - port: 80
    targetPort: 8080
"""
COMPOSE = """\
x-common: &common
  restart: always
  logging: &logging
    driver: json-file
    options: {max-size: "10m"}

services:
  db:
    <<: *common
    image: postgres:16
    volumes:
      - data:/var/lib/postgresql/data   # kept

  web:
    <<: *common
    image: web
    depends_on: [db]
    ports:
      - "8080:80"
      - "8443:443"
    command: |
      set -e

      run --all
volumes:
  data:
"""
WORKFLOW = """\
name: CI
on:
  push:
    branches: [main]
  pull_request:

env:
  VERSION: 010
  EMPTY: ""
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, macos-latest]
        include:
        - os: windows-latest
          shell: pwsh
    steps:
    - uses: actions/checkout@v4
    - name: Run
      run: |
        make test
        make lint
      env: {A: 1, B: yes}
    # the end
"""
TEMPLATE = """\
Resources:
  Bucket:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: !Sub "${Stack}-files"
      Tags:
        - Key: owner
          Value: !Ref Owner
  Secret: !vault |
    6162
    6364
Created: 2024-01-02
Ratio: 1e3
"quoted key": {nested: [1, [2, 3], {a: b}]}
? explicit
: value
"""
WINDOWS = "# CRLF\r\nname: x\r\nlist:\r\n  - a  # one\r\n  - b\r\nmap:\r\n  k: v\r\n  t: |\r\n    line\r\n"
JSON = """\
{
    "name": "shop",
    "scripts": { "build": "make", "test": "make test" },
    "files": ["a", "b"],
    "deep": {
        "list": [
            {"id": 1},
            {
                "id": 2
            }
        ],
        "empty": {},
        "none": []
    },
    "last": null
}
"""
JSONC = """\
{
  // comments are common in settings
  "editor.tabSize": 2, // two
  /* a block */
  "files.exclude": {
    "**/.git": true, // hidden
  },
  "list": [
    1,
    2, // the last
  ],
}
"""
TOML = """\
# A project
[project]
name = "shop"   # the name
version = '1.0'
dependencies = [
    "one>=1",  # first
    "two",
]
released = 2024-01-02

[project.scripts]
run = "shop:main"

[[tool.sources]]
name = "a"

[[tool.sources]]
name = "b"
options = { fast = true, level = 3 }
"""
FILES = {
    "kubernetes.yaml": KUBERNETES,
    "compose.yaml": COMPOSE,
    "workflow.yml": WORKFLOW,
    "template.yaml": TEMPLATE,
    "windows.yaml": WINDOWS,
    "shop.json": JSON,
    "settings.json": JSONC,
    "project.toml": TOML,
}
