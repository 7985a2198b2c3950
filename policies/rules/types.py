"""The type tokens the rules govern.

They are spelled out because importing ``pulumi_aws`` would add seconds to the start of the pack; a
test compares each with the token of its class.
"""

from typing import Final

# Identity
IAM_ACCESS_KEY: Final = "aws:iam/accessKey:AccessKey"
IAM_GROUP_POLICY: Final = "aws:iam/groupPolicy:GroupPolicy"
IAM_GROUP_POLICY_ATTACHMENT: Final = "aws:iam/groupPolicyAttachment:GroupPolicyAttachment"
IAM_POLICY: Final = "aws:iam/policy:Policy"
IAM_POLICY_ATTACHMENT: Final = "aws:iam/policyAttachment:PolicyAttachment"
IAM_ROLE: Final = "aws:iam/role:Role"
IAM_ROLE_POLICY: Final = "aws:iam/rolePolicy:RolePolicy"
IAM_ROLE_POLICY_ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
IAM_ROLE_POLICY_ATTACHMENTS_EXCLUSIVE: Final = (
    "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive"
)
IAM_USER: Final = "aws:iam/user:User"
IAM_USER_LOGIN_PROFILE: Final = "aws:iam/userLoginProfile:UserLoginProfile"
IAM_USER_POLICY: Final = "aws:iam/userPolicy:UserPolicy"
IAM_USER_POLICY_ATTACHMENT: Final = "aws:iam/userPolicyAttachment:UserPolicyAttachment"

# Network
EC2_DEFAULT_SECURITY_GROUP: Final = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
EC2_NETWORK_INTERFACE: Final = "aws:ec2/networkInterface:NetworkInterface"
EC2_SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
EC2_SECURITY_GROUP_RULE: Final = "aws:ec2/securityGroupRule:SecurityGroupRule"
VPC_EGRESS_RULE: Final = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
VPC_INGRESS_RULE: Final = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"

# Compute
EC2_INSTANCE: Final = "aws:ec2/instance:Instance"
EC2_LAUNCH_CONFIGURATION: Final = "aws:ec2/launchConfiguration:LaunchConfiguration"
EC2_LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
EC2_SPOT_INSTANCE_REQUEST: Final = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
EKS_ACCESS_ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
EKS_ACCESS_POLICY_ASSOCIATION: Final = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
EKS_ADDON: Final = "aws:eks/addon:Addon"
EKS_CLUSTER: Final = "aws:eks/cluster:Cluster"
EKS_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
EKS_POD_IDENTITY_ASSOCIATION: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"

# Storage, images, secrets, messages, records
CLOUDTRAIL_TRAIL: Final = "aws:cloudtrail/trail:Trail"
EBS_VOLUME: Final = "aws:ebs/volume:Volume"
ECR_REGISTRY_POLICY: Final = "aws:ecr/registryPolicy:RegistryPolicy"
ECR_REPOSITORY: Final = "aws:ecr/repository:Repository"
ECR_REPOSITORY_POLICY: Final = "aws:ecr/repositoryPolicy:RepositoryPolicy"
EFS_FILE_SYSTEM: Final = "aws:efs/fileSystem:FileSystem"
EFS_FILE_SYSTEM_POLICY: Final = "aws:efs/fileSystemPolicy:FileSystemPolicy"
FSX_LUSTRE: Final = "aws:fsx/lustreFileSystem:LustreFileSystem"
FSX_ONTAP: Final = "aws:fsx/ontapFileSystem:OntapFileSystem"
FSX_OPEN_ZFS: Final = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
FSX_WINDOWS: Final = "aws:fsx/windowsFileSystem:WindowsFileSystem"
KMS_KEY: Final = "aws:kms/key:Key"
KMS_KEY_POLICY: Final = "aws:kms/keyPolicy:KeyPolicy"
S3_ACCESS_POINT: Final = "aws:s3/accessPoint:AccessPoint"
S3_BUCKET: Final = "aws:s3/bucket:Bucket"
S3_BUCKET_V2: Final = "aws:s3/bucketV2:BucketV2"
S3_BUCKET_POLICY: Final = "aws:s3/bucketPolicy:BucketPolicy"
S3_PUBLIC_ACCESS_BLOCK: Final = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
S3_ENCRYPTION: Final = (
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
)
S3_ENCRYPTION_V2: Final = (
    "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2"
)
SECRETSMANAGER_SECRET: Final = "aws:secretsmanager/secret:Secret"  # noqa: S105 - a type token
SECRETSMANAGER_SECRET_POLICY: Final = "aws:secretsmanager/secretPolicy:SecretPolicy"  # noqa: S105 - a type token
SNS_TOPIC: Final = "aws:sns/topic:Topic"
SNS_TOPIC_POLICY: Final = "aws:sns/topicPolicy:TopicPolicy"
SQS_QUEUE: Final = "aws:sqs/queue:Queue"
SQS_QUEUE_POLICY: Final = "aws:sqs/queuePolicy:QueuePolicy"

# Kubernetes
KUBERNETES_CONFIG_MAP: Final = "kubernetes:core/v1:ConfigMap"
KUBERNETES_HELM_RELEASE: Final = "kubernetes:helm.sh/v3:Release"

# Providers
AWS_PROVIDER: Final = "pulumi:providers:aws"
KUBERNETES_PROVIDER: Final = "pulumi:providers:kubernetes"
