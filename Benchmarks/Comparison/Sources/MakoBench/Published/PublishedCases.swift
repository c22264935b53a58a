/// A benchmark design published by another project, as cases.
protocol PublishedDesign: AnyObject {
    static var names: [String] { get }

    init(options: Options, workspace: Workspace)
    func make(_ name: String) -> BenchmarkCase?
    func close() throws
}

/// The published designs of other libraries; `PUBLISHED.md` describes each, and the differences here.
final class PublishedCases {
    private static var designs: [any PublishedDesign.Type] {
        [LighterCases.self, GRDBCases.self, ObjectBoxCases.self, RealmCases.self, SwiftDataCases.self]
    }

    static var names: [String] { designs.flatMap { $0.names } }

    private let designs: [any PublishedDesign]

    init(options: Options, workspace: Workspace) {
        designs = PublishedCases.designs.map { $0.init(options: options, workspace: workspace) }
    }

    func make(_ name: String) -> BenchmarkCase? { designs.lazy.compactMap { $0.make(name) }.first }

    func close() throws { for design in designs { try design.close() } }
}
