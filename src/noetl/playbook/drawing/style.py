"""The style sheet of the SVG drawing: plain rules, first for light pages, then what differs on dark ones."""

STYLE = """
svg{background:#fff}
text{text-anchor:middle;
font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif}
.page{fill:#fff}
.box rect{fill:#f8fafc;stroke:#94a3b8;stroke-width:1.25}
.box .shade{fill:#eef2f7;stroke:#b6c2d1}
.entry rect{stroke:#2563eb;stroke-width:2}
.name{font-size:14px;font-weight:600;fill:#0f172a}
.desc{font-size:12px;fill:#475569}
.kinds,.label text{font-size:11px;
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace}
.kinds{fill:#64748b}
.loop{font-size:11px;fill:#7c3aed}
.line{fill:none;stroke:#64748b;stroke-width:1.5}
.head{fill:#64748b}
.failure .line{stroke:#dc2626;stroke-dasharray:6 4}
.head-failure{fill:#dc2626}
.label rect{fill:#fff;stroke:#cbd5e1}
.label text{fill:#334155}
.failure .label rect{stroke:#fca5a5}
.failure .label text{fill:#b91c1c}
.otherwise .label rect{stroke:none}
.otherwise .label text{fill:#64748b;font-style:italic}
.badge rect{fill:#e2e8f0;stroke:#94a3b8;stroke-width:1}
.badge text{font-size:10px;font-weight:600;fill:#334155}
.inclusive rect{fill:#dbeafe;stroke:#2563eb}
.inclusive text{fill:#1d4ed8}
.join rect{fill:#ede9fe;stroke:#7c3aed}
.join text{fill:#6d28d9}
.start{fill:#2563eb}
.end{fill:#f8fafc;stroke:#64748b;stroke-width:1.5}
.end-dot{fill:#64748b}
@media (prefers-color-scheme:dark){
svg{background:#0d1117}
.page{fill:#0d1117}
.box rect{fill:#161b22;stroke:#56616f}
.box .shade{fill:#11161d;stroke:#3d4652}
.entry rect{stroke:#58a6ff}
.name{fill:#e6edf3}
.desc{fill:#a9b4c0}
.kinds{fill:#8b96a3}
.loop{fill:#c4a7ff}
.line{stroke:#7d8794}
.head{fill:#7d8794}
.failure .line{stroke:#f87171}
.head-failure{fill:#f87171}
.label rect{fill:#0d1117;stroke:#3d4652}
.label text{fill:#c9d3de}
.failure .label rect{stroke:#7f3b3b}
.failure .label text{fill:#fca5a5}
.otherwise .label text{fill:#8b96a3}
.badge rect{fill:#21262d;stroke:#56616f}
.badge text{fill:#c9d3de}
.inclusive rect{fill:#12284c;stroke:#58a6ff}
.inclusive text{fill:#93c5fd}
.join rect{fill:#2a1f4d;stroke:#a78bfa}
.join text{fill:#c4b5fd}
.start{fill:#58a6ff}
.end{fill:#161b22;stroke:#8b96a3}
.end-dot{fill:#8b96a3}
}
"""
