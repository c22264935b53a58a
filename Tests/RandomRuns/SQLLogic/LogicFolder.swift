import Foundation

extension LogicReport {
    /// Runs all scripts of a folder, or one.
    ///
    /// - Parameter progress: is called with the name of each script.
    package init(scriptsIn place: URL, progress: (String) -> Void = { _ in }) throws {
        self.init()
        var scripts = [place]
        if place.pathExtension != "test" {
            let found = FileManager.default.enumerator(at: place, includingPropertiesForKeys: nil)
            scripts = (found?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "test" }
        }
        for url in scripts.sorted(by: { $0.path < $1.path }) {
            let before = (queries, faults.count)
            let start = Date()
            try run(try LogicScript(name: url.lastPathComponent, try String(contentsOf: url, encoding: .utf8)))
            let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
            progress(
                "\(url.lastPathComponent): \(queries - before.0) queries, \(faults.count - before.1) faults, \(seconds) s"
            )
        }
    }
}
