/// The size of a published design: all of it by default; `--n` scales it in proportion to a million.
struct Sizes {
    let records: Int

    init(_ options: Options) { records = options.records }

    /// - Parameter least: the smallest meaningful size.
    func scaled(_ published: Int, least: Int = 1) -> Int {
        max(Int(Double(published) * Double(records) / 1_000_000), least)
    }
}
