import Mako

/// An error as the user sees it: a message and the exit status, by the numbers of BSD's sysexits.
struct Failure: Error, CustomStringConvertible {
    let description: String
    let status: Int32

    /// Each error of the database has a description that says what to do; its case chooses the status.
    init(_ error: MakoError) {
        description = "\(error)"
        status =
            switch error {
            case .storage(.notFound), .notFound: 66  // EX_NOINPUT
            case .invalidArgument, .duplicate, .query: 65  // EX_DATAERR
            case .storage(.io), .storage(.diskFull): 74  // EX_IOERR
            case .alreadyOpen, .writerTimeout: 75  // EX_TEMPFAIL
            default: 70  // EX_SOFTWARE
            }
    }
}
