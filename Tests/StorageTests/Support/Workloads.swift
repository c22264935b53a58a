import MakoTestSupport

extension Script {
    /// The workloads that are crashed at every call: the files in `Scripts`, by name. Each is small, since it is run
    /// thousands of times, and each covers one kind of change of the file.
    static let crashWorkloads: [(name: String, text: String)] =
        ((try? ScriptFile.all(in: folder)) ?? []).map { ($0.name, $0.text) }
        // Leaves out what this build cannot run; a script that cannot be parsed stays, so that its test reports it.
        .filter { (try? Script(name: $0.name, $0.text).isPossible) ?? true }

    private static let folder = parentDirectory(parentDirectory(#filePath)) + "/Scripts"

    private static func parentDirectory(_ path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
